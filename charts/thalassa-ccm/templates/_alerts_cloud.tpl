{{/* One alert for each kind of failure of the cloud's API. Takes the same as thalassa-ccm.alerts. */}}

{{- define "thalassa-ccm.alerts.thalassa" -}}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudAPIAway" "severity" "critical" "for" "5m"
  "expr" (printf `max by (namespace) (%s_circuit_open{%s}) == 1` .api .pods)
  "summary" "The API of Thalassa Cloud does not answer: load balancers and nodes are not updated."
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
  "summary" "A quota of Thalassa Cloud is used up: an object that a Service or a Node needs cannot be created, such as a load balancer or a route."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "ThalassaCloudAPISlow" "severity" "warning" "for" "15m"
  "expr" (printf `histogram_quantile(0.99, sum by (namespace, le) (rate(%s_request_duration_seconds_bucket{%s}[5m]))) > 10` .api .pods)
  "summary" "One request in a hundred to the API of Thalassa Cloud takes longer than 10 seconds."
) .) }}
{{- end -}}

{{/* Watches are long requests without a duration. They are no part of the ratios. */}}
{{- define "thalassa-ccm.alerts.ironcore" -}}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "IronCoreAPIAway" "severity" "critical" "for" "5m"
  "expr" (printf `sum by (namespace) (rate(%s_request_errors{%s, verb!="watch", code=~"timeout|unreachable|5.."}[5m])) / sum by (namespace) (rate(%s_request_duration_seconds_count{%s}[5m])) > 0.9` .api .pods .api .pods)
  "summary" "The IronCore API does not answer: load balancers and nodes are not updated."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "IronCoreAPIErrors" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (rate(%s_request_errors{%s, verb!="watch", code!~"404|409"}[5m])) / sum by (namespace) (rate(%s_request_duration_seconds_count{%s}[5m])) > 0.1` .api .pods .api .pods)
  "summary" "More than a tenth of the requests to the IronCore API fail."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "IronCoreAPIUnauthorised" "severity" "critical" "for" "5m"
  "expr" (printf `sum by (namespace) (increase(%s_request_errors{%s, code="401"}[10m])) > 0` .api .pods)
  "summary" "The IronCore API refuses the credentials."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "IronCoreAPIForbidden" "severity" "warning" "for" "5m"
  "expr" (printf `sum by (namespace) (increase(%s_request_errors{%s, code="403"}[15m])) > 0` .api .pods)
  "summary" "The IronCore API refuses requests: a permission is missing, or a quota is used up."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "IronCoreAPIThrottled" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (rate(%s_request_errors{%s, code="429"}[5m])) > 0` .api .pods)
  "summary" "The IronCore API limits the rate of requests: changes take longer."
) .) }}
{{ include "thalassa-ccm.alert" (merge (dict
  "name" "IronCoreAPISlow" "severity" "warning" "for" "15m"
  "expr" (printf `histogram_quantile(0.99, sum by (namespace, le) (rate(%s_request_duration_seconds_bucket{%s}[5m]))) > 10` .api .pods)
  "summary" "One request in a hundred to the IronCore API takes longer than 10 seconds."
) .) }}
{{- end -}}
