{{/* The endpoint of a ServiceMonitor or PodMonitor. ownToken: Prometheus uses the token of its own ServiceAccount. */}}
{{- define "thalassa-ccm.endpoint" -}}
{{- $scrape := .root.Values.scrape | default dict -}}
port: metrics
path: /metrics
scheme: https
interval: {{ $scrape.interval | default "30s" }}
{{- with $scrape.timeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- with $scrape.relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $scrape.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if ($scrape.token).existingSecret }}
authorization:
  type: Bearer
  credentials:
    name: {{ $scrape.token.existingSecret | quote }}
    key: {{ $scrape.token.key | default "token" }}
{{- else if .ownToken }}
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
{{- end }}
tlsConfig:
  {{- include "thalassa-ccm.scrapeTLS" .root | trim | nindent 2 }}
{{- end -}}

{{/* Without a certificate authority, Prometheus does not verify the certificate of the port, which is self-signed. */}}
{{- define "thalassa-ccm.scrapeTLS" -}}
{{- $scrape := .Values.scrape | default dict -}}
{{- with ($scrape.ca).existingSecret | default (.Values.metrics).tlsSecret }}
ca:
  secret:
    name: {{ . | quote }}
    key: {{ ($scrape.ca).key | default "ca.crt" }}
serverName: {{ $scrape.serverName | default (printf "%s.%s.svc" (include "thalassa-ccm.nameWith" (dict "root" $ "suffix" "metrics")) (include "thalassa-ccm.namespace" $)) | quote }}
{{- else }}
insecureSkipVerify: true
{{- end }}
{{- with ($scrape.clientCertificate).existingSecret }}
cert:
  secret:
    name: {{ . | quote }}
    key: tls.crt
keySecret:
  name: {{ . | quote }}
  key: tls.key
{{- end }}
{{- end -}}
