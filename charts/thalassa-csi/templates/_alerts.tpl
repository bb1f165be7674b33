{{/* The driver's containers of components as a selector of metrics. Takes root and components. */}}
{{- define "thalassa-csi.pods" -}}
{{- $names := list -}}
{{- range $component := .components -}}
{{- $names = append $names (include "thalassa-csi.podsOf" (include "thalassa-csi.componentName" (dict "root" $.root "component" $component))) -}}
{{- end -}}
container="thalassa-csi-driver", namespace="{{ include "thalassa-csi.namespace" .root }}", pod=~"{{ join "|" $names }}"
{{- end -}}

{{/* One alert for each kind of failure. Takes root, pods and driver (selectors of the controller's pods, and of all), and daemonset. */}}
{{- define "thalassa-csi.alerts" -}}
{{- include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSIControllerDown" "severity" "critical" "for" "5m"
  "expr" (printf `sum by (namespace) (up{%s}) == 0 or sum by (namespace) (absent(up{%s}))` .pods .pods)
  "summary" "No controller of the CSI driver runs: volumes are not created, attached or detached."
) .) }}
{{ include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSINodePluginMissing" "severity" "warning" "for" "15m"
  "expr" (printf `max by (namespace) (kube_daemonset_status_desired_number_scheduled{%s} - kube_daemonset_status_number_ready{%s}) > 0` .daemonset .daemonset)
  "summary" "The node plug-in of the CSI driver is not ready on some nodes: pods there cannot start with volumes."
) .) }}
{{ include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSICallsFailing" "severity" "warning" "for" "30m"
  "expr" (printf `sum by (namespace, grpc_method) (increase(grpc_server_handled_total{%s, grpc_code!~"OK|NotFound|AlreadyExists|Aborted|Canceled|InvalidArgument|OutOfRange|Unimplemented"}[15m])) > 0` .driver)
  "summary" "Calls of the CSI driver fail: the volumes that they are for wait."
) .) }}
{{ include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSICloudAPIAway" "severity" "critical" "for" "5m"
  "expr" (printf `max by (namespace) (cloudprovider_thalassa_api_circuit_open{%s}) == 1` .pods)
  "summary" "The API of Thalassa Cloud does not answer the CSI driver: volumes are not created, attached or detached."
) .) }}
{{ include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSICloudAPIErrors" "severity" "warning" "for" "15m"
  "expr" (printf `sum by (namespace) (rate(cloudprovider_thalassa_api_request_errors{%s, reason!="not_found"}[5m])) / sum by (namespace) (rate(cloudprovider_thalassa_api_request_duration_seconds_count{%s}[5m])) > 0.1` .pods .pods)
  "summary" "More than a tenth of the requests of the CSI driver to the API of Thalassa Cloud fail."
) .) }}
{{ include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSICloudAPIUnauthorised" "severity" "critical" "for" "5m"
  "expr" (printf `sum by (namespace) (increase(cloudprovider_thalassa_api_request_errors{%s, reason="unauthorised"}[10m])) > 0` .pods)
  "summary" "The API of Thalassa Cloud refuses the credentials of the CSI driver."
) .) }}
{{ include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSIQuotaReached" "severity" "warning" "for" "5m"
  "expr" (printf `sum by (namespace) (increase(cloudprovider_thalassa_api_request_errors{%s, reason="quota"}[15m])) > 0` .pods)
  "summary" "A quota of Thalassa Cloud is used up: a volume or a snapshot cannot be created."
) .) }}
{{ include "thalassa-csi.alert" (merge (dict
  "name" "ThalassaCSISecretsNotReloaded" "severity" "warning" "for" "10m"
  "expr" (printf `max by (namespace) (cloudprovider_thalassa_secrets_reload_failing{%s}) == 1` .pods)
  "summary" "New credentials or CA certificates of the CSI driver cannot be used: the previous ones are in use until they expire."
) .) }}
{{- end -}}
