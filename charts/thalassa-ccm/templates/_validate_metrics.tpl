{{/* Checks of the monitors and of the readers of metrics. Each prints one line for each problem. */}}

{{- define "thalassa-ccm.validate.metrics" -}}
{{- $scrape := .Values.scrape | default dict -}}
{{- $certified := ($scrape.clientCertificate).existingSecret -}}
{{- $identified := or ($scrape.token).existingSecret $certified -}}
{{- $monitored := and (include "thalassa-ccm.hosting" .) (or (.Values.podMonitor).enabled (.Values.serviceMonitor).enabled) -}}
{{- $monitor := ternary "serviceMonitor.enabled" "podMonitor.enabled" (not (not (.Values.serviceMonitor).enabled)) -}}
{{- if and (.Values.serviceMonitor).enabled (.Values.podMonitor).enabled }}
serviceMonitor.enabled and podMonitor.enabled exclude each other: with both, Prometheus scrapes each pod twice, leave one of them out
{{- end }}
{{- if and ($scrape.token).existingSecret ($scrape.clientCertificate).existingSecret }}
scrape.token.existingSecret and scrape.clientCertificate.existingSecret exclude each other: Prometheus authenticates with one of them, leave the other out
{{- end }}
{{- if eq .Values.profile "managed" }}
{{- if ($scrape.token).existingSecret }}
scrape.token.existingSecret is only for profile self-managed: with profile managed the token would be sent to the API server of the served cluster, set scrape.clientCertificate.existingSecret instead
{{- else if and $monitored (not $certified) }}
scrape.clientCertificate.existingSecret is required with profile managed while {{ $monitor }} is true: the served cluster cannot authenticate Prometheus, and must not receive its token, for example --set scrape.clientCertificate.existingSecret=prometheus-client
{{- else if and $monitored (not ((.Values.metrics).clientCA).existingSecret) }}
metrics.clientCA.existingSecret is required with profile managed while {{ $monitor }} is true: it contains the certificate authority that the port trusts, for example --set metrics.clientCA.existingSecret=prometheus-ca
{{- end }}
{{- else if and $monitored (.Values.podMonitor).enabled (not $identified) }}
scrape.token.existingSecret is required while podMonitor.enabled is true: only a ServiceMonitor can use Prometheus' own token, for example --set scrape.token.existingSecret=prometheus-token; or set scrape.clientCertificate.existingSecret
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.readers" -}}
{{- range $index, $reader := (.Values.metrics).readers | default list }}
{{- if and (eq $reader.kind "ServiceAccount") (not $reader.namespace) }}
metrics.readers[{{ $index }}].namespace is required for a ServiceAccount: it is the namespace of {{ $reader.name }}, for example --set metrics.readers[{{ $index }}].namespace=monitoring
{{- else if and (ne $reader.kind "ServiceAccount") $reader.namespace }}
metrics.readers[{{ $index }}].namespace is only for a ServiceAccount: a {{ $reader.kind }} has no namespace, leave it out
{{- end }}
{{- end }}
{{- end -}}
