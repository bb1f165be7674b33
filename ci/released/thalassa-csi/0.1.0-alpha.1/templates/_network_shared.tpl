{{/* Made by "make generate" from charts/thalassa-ccm/templates; do not edit. */}}
{{/* One egress rule, with networks and ports. If ports is null, the default ports are used. If ports is empty, all ports are permitted. */}}
{{- define "thalassa-csi.egress" -}}
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
