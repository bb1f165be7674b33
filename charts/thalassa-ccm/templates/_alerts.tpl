{{/* One alert for each kind of failure. Takes root, api (prefix of the names of metrics) and pods (a selector of the pods). */}}
{{- define "thalassa-ccm.alerts" -}}
{{- include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMNoLeader" "severity" "critical" "for" "5m"
  "expr" (printf `count by (namespace) (max_over_time(leader_election_master_status{%s, name="cloud-controller-manager"}[1h])) unless (sum by (namespace) (leader_election_master_status{%s, name="cloud-controller-manager"}) > 0)%s` .pods .pods (ternary "" (printf ` or sum by (namespace) (absent(leader_election_master_status{%s, name="cloud-controller-manager"}))` .pods) (not (empty .root.Values.rules.allNamespaces))))
  "summary" "No cloud controller manager is active: new nodes stay tainted, and load balancers are not updated."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMTwoLeaders" "severity" "critical" "for" "2m"
  "expr" (printf `sum by (namespace) (leader_election_master_status{%s, name="cloud-controller-manager"}) > 1` .pods)
  "summary" "More than one cloud controller manager is active: they may revert each other's changes."
) .) }}
{{ include (printf "thalassa-ccm.alerts.%s" .root.Values.cloud) . }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMSecretsNotReloaded" "severity" "warning" "for" "10m"
  "expr" (printf `max by (namespace) (cloudprovider_%s_secrets_reload_failing{%s}) == 1` .root.Values.cloud .pods)
  "summary" "New credentials or CA certificates cannot be used: the previous ones are in use until they expire."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMQueueStuck" "severity" "warning" "for" "15m"
  "expr" (printf `max by (namespace, name) (min_over_time(workqueue_depth{%s}[10m])) > 50` .pods)
  "summary" "More than 50 Nodes or Services wait in a queue."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMKubernetesAPIErrors" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (rate(rest_client_requests_total{%s, code=~"5..|<error>|401|403"}[5m])) / sum by (namespace) (rate(rest_client_requests_total{%s}[5m])) > 0.1` .pods .pods)
  "summary" "More than a tenth of the requests to the Kubernetes API fail or are refused."
) .) }}
{{- if (include "thalassa-ccm.work" .root | fromJson).services }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMServicesFailing" "severity" "warning" "for" "30m"
  "expr" (printf `sum by (namespace) (increase(service_lb_reconcile_duration_seconds_count{%s, result="failed"}[15m])) > 0` .pods)
  "summary" "The load balancer of at least one Service cannot be created or updated."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMDrifted" "severity" "warning" "for" "30m"
  "expr" (printf `sum by (namespace) (service_lb_drifted{%s}) > 0` .pods)
  "summary" "The load balancer of at least one Service was changed in the cloud, and the change is not reverted."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMOrphans" "severity" "warning" "for" "30m"
  "expr" (printf `sum by (namespace) (service_lb_orphans{%s}) > 0` .pods)
  "summary" "The cloud has load balancers or target groups whose Services do not exist any more; they may cost money."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMSameCluster" "severity" "warning" "for" "5m"
  "expr" (printf `sum by (namespace) (service_lb_foreign{%s}) > 0` .pods)
  "summary" "Another cluster has the same name in its configuration: the cloud has objects with the name of this cluster and the UID of the other one."
) .) }}
{{- if not (include "thalassa-ccm.resyncDisabled" .root) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMResyncOverdue" "severity" "warning" "for" (printf "%ss" (include "thalassa-ccm.overdue" .root))
  "expr" (printf `time() - max by (namespace) (service_lb_resync_timestamp_seconds{%s}) > %s` .pods (include "thalassa-ccm.overdue" .root))
  "summary" "The cloud is not checked for changes that were made by hand, nor for load balancers whose Services do not exist any more."
) .) }}
{{- end }}
{{- end }}
{{- if (include "thalassa-ccm.work" .root | fromJson).nodes }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMNodesUninitialised" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (node_controller_uninitialised{%s}) > 0` .pods)
  "summary" "Some Nodes are not initialised: no pods are scheduled to them."
) .) }}
{{- end }}
{{- if (include "thalassa-ccm.work" .root | fromJson).lifecycle }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMNodesNotRemoved" "severity" "warning" "for" "30m"
  "expr" (printf `sum by (namespace) (node_lifecycle_deletions_blocked{%s, reason!~"kept|dry_run"}) > 0` .pods)
  "summary" "Some Nodes are not deleted although their machines are missing or in an unknown state."
) .) }}
{{- end }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMRoutesMissing" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (node_route_nodes_without_route{%s}) > 0` .pods)
  "summary" "Some Nodes have no route to their pods: other Nodes cannot reach these pods."
) .) }}
{{- with include "thalassa-ccm.followed" .root }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCCMInventoryOld" "severity" "warning" "for" "15m"
  "expr" (printf `max by (namespace) (cloudprovider_thalassa_inventory_age_seconds{%s, kind=~"%s"}) > %s` $.pods . (include "thalassa-ccm.oldAge" $.root))
  "summary" "The cached list of objects in the cloud is old: the cloud cannot be listed, or the list takes very long."
) $) }}
{{- end }}
{{- end -}}

{{/* The kinds of objects that are listed periodically, as a regular expression. Empty: it is not known, or objects are watched. */}}
{{- define "thalassa-ccm.followed" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if include "thalassa-ccm.ironcore" . -}}
{{- else if and $work.services (not (include "thalassa-ccm.resyncDisabled" .)) -}}
machine|load balancer|target group
{{- else if or $work.nodes $work.lifecycle -}}
machine
{{- end -}}
{{- end -}}

{{/* Seconds after which a list is old: half an hour, or three intervals between lists. */}}
{{- define "thalassa-ccm.oldAge" -}}
{{- $period := (.Values.cloudConfig.loadBalancer).driftPeriod | default 0 | int -}}
{{- mul 3 (max 600 $period) -}}
{{- end -}}

{{/* Seconds after which a check for drift is overdue: twenty minutes, or two intervals between checks. A new leader has not checked
yet, so the alert waits for this time again. */}}
{{- define "thalassa-ccm.overdue" -}}
{{- $period := (.Values.cloudConfig.loadBalancer).driftPeriod | default 0 | int -}}
{{- mul 2 (max 600 $period) -}}
{{- end -}}
