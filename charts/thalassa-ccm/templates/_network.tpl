{{/* Default ports of the cloud's API, as JSON. The API of IronCore is that of a Kubernetes API server. */}}
{{- define "thalassa-ccm.cloudPorts" -}}
{{- ternary (list 443 6443) (list 443) (eq .Values.cloud "ironcore") | toJson -}}
{{- end -}}
