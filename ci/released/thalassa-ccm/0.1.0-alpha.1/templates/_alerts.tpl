{{/* One alert for each way to fail. Takes root, api (start of the metrics' names) and pods (a selector of them). */}}
{{- define "thalassa-ccm.alerts" -}}
{{- include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMNoLeader" "severity" "critical" "for" "5m"
  "expr" (printf `count by (namespace) (max_over_time(leader_election_master_status{%s, name="cloud-controller-manager"}[1h])) unless (sum by (namespace) (leader_election_master_status{%s, name="cloud-controller-manager"}) > 0)%s` .pods .pods (ternary "" (printf ` or sum by (namespace) (absent(leader_election_master_status{%s, name="cloud-controller-manager"}))` .pods) (not (empty .root.Values.rules.allNamespaces))))
  "summary" "No cloud controller manager is active: new nodes stay tainted and load balancers are not maintained."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMTwoLeaders" "severity" "critical" "for" "2m"
  "expr" (printf `sum by (namespace) (leader_election_master_status{%s, name="cloud-controller-manager"}) > 1` .pods)
  "summary" "More than one cloud controller manager is active: they may undo each other's work."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudAPIAway" "severity" "critical" "for" "5m"
  "expr" (printf `max by (namespace) (%s_circuit_open{%s}) == 1` .api .pods)
  "summary" "The API of Thalassa Cloud does not answer: load balancers and nodes stay as they are."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudAPIErrors" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (rate(%s_request_errors{%s, reason!="not_found"}[5m])) / sum by (namespace) (rate(%s_request_duration_seconds_count{%s}[5m])) > 0.1` .api .pods .api .pods)
  "summary" "More than a tenth of the requests to the API of Thalassa Cloud fail."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudAPIUnauthorised" "severity" "critical" "for" "5m"
  "expr" (printf `sum by (namespace) (increase(%s_request_errors{%s, reason="unauthorised"}[10m])) > 0` .api .pods)
  "summary" "The API of Thalassa Cloud refuses the credentials."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudAPIThrottled" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (rate(%s_request_errors{%s, reason="throttled"}[5m])) > 0` .api .pods)
  "summary" "The API of Thalassa Cloud limits the rate of requests: changes take longer."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudQuotaReached" "severity" "warning" "for" "5m"
  "expr" (printf `sum by (namespace) (increase(%s_request_errors{%s, reason="quota"}[15m])) > 0` .api .pods)
  "summary" "A quota of Thalassa Cloud is used up: some load balancer cannot be made or changed."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudAPISlow" "severity" "warning" "for" "15m"
  "expr" (printf `histogram_quantile(0.99, sum by (namespace, le) (rate(%s_request_duration_seconds_bucket{%s}[5m]))) > 10` .api .pods)
  "summary" "One request in a hundred to the API of Thalassa Cloud takes longer than 10 seconds."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMSecretsNotReloaded" "severity" "warning" "for" "10m"
  "expr" (printf `max by (namespace) (cloudprovider_thalassa_secrets_reload_failing{%s}) == 1` .pods)
  "summary" "New credentials or CA certificates are no good: the old ones are in use until they expire."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMQueueStuck" "severity" "warning" "for" "15m"
  "expr" (printf `min_over_time(workqueue_depth{%s}[10m]) > 50` .pods)
  "summary" "Nodes or Services wait longer than they should."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMKubernetesAPIErrors" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (rate(rest_client_requests_total{%s, code=~"5..|<error>|401|403"}[5m])) / sum by (namespace) (rate(rest_client_requests_total{%s}[5m])) > 0.1` .pods .pods)
  "summary" "More than a tenth of the requests to the Kubernetes API fail or are refused."
) .) }}
{{- end -}}

{{/* An alert. Its runbook is the heading of the same name. */}}
{{- define "thalassa-ccm.alert" -}}
- alert: {{ .name }}
  expr: {{ .expr | squote }}
  for: {{ .for }}
  labels:
    {{- merge (dict "severity" .severity) (.root.Values.rules.alertLabels | default dict) | toYaml | nindent 4 }}
  annotations:
    summary: {{ .summary | quote }}
    runbook_url: {{ printf "%s#%s" (.root.Values.rules.runbooks | default "https://github.com/thalassa-cloud/thalassa-ccm/blob/main/docs/guides/alerts.md") (lower .name) | quote }}
{{- end -}}
