{{- define "thalassa-ccm.egress" -}}
ports:
  {{- range .ports }}
  - port: {{ . }}
    protocol: TCP
  {{- end }}
{{- with .cidrs }}
to:
  {{- range . }}
  - ipBlock:
      cidr: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}
