{{/*
The flags, sorted by name. extraArgs wins over the chart's own flags; those that
have a value of their own are refused by thalassa-ccm.validate.
*/}}
{{- define "thalassa-ccm.args" -}}
{{- $args := dict
  "allocate-node-cidrs" false
  "authorization-always-allow-paths" "/healthz,/readyz,/livez"
  "bind-address" .Values.bindAddress
  "cloud-config" (printf "%s/cloud-config.yaml" (include "thalassa-ccm.configDirectory" .))
  "cloud-provider" "thalassacloud"
  "cluster-name" .Values.cloudConfig.cluster
  "concurrent-service-syncs" 10
  "configure-cloud-routes" false
  "leader-elect" true
  "secure-port" .Values.securePort
  "v" .Values.logVerbosity
-}}
{{- range $name, $value := .Values.extraArgs -}}
{{- $_ := set $args $name $value -}}
{{- end -}}
{{- range $name, $value := $args }}
- {{ printf "--%s=%s" $name (include "thalassa-ccm.scalar" $value) | quote }}
{{- end -}}
{{- end -}}

{{/* A value as text. JSON, because Go would write the number 1000000 as 1e+06. */}}
{{- define "thalassa-ccm.scalar" -}}
{{- if kindIs "string" . -}}{{ . }}{{- else -}}{{ toJson . }}{{- end -}}
{{- end -}}
