{{/* One rule: networks and ports to go to. Ports that are null are the default, so that nothing opens by itself; none are all. */}}
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
