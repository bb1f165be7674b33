{{/* Default ports of the cloud's API, as JSON. The API of IronCore is that of a Kubernetes API server. */}}
{{- define "thalassa-ccm.cloudPorts" -}}
{{- ternary (list 443 6443) (list 443) (eq .Values.cloud "ironcore") | toJson -}}
{{- end -}}

{{/* One egress rule, with networks and ports. If ports is null, the default ports are used. If ports is empty, all ports are permitted. */}}
{{- define "thalassa-ccm.egress" -}}
{{- $to := .to | default dict -}}
ports:
  {{- range (ternary .ports $to.ports (kindIs "invalid" $to.ports)) }}
  - port: {{ . }}
    protocol: TCP
  {{- else }}
  - protocol: TCP
  {{- end }}
{{- with $to.cidrs }}
to:
  {{- range . }}
  - ipBlock:
      cidr: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}
