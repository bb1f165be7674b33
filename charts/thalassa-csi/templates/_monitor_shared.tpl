{{/* Made by "make generate" from charts/thalassa-ccm/templates; do not edit. */}}
{{/* An alert. Its runbook is the page with the same name. */}}
{{- define "thalassa-csi.alert" -}}
- alert: {{ .name }}
  expr: {{ .expr | squote }}
  for: {{ .for }}
  labels:
    {{- merge (dict "severity" .severity) (.root.Values.rules.alertLabels | default dict) | toYaml | nindent 4 }}
  annotations:
    summary: {{ .summary | quote }}
    runbook_url: {{ printf "%s/%s.md" (.root.Values.rules.runbooks | default "https://github.com/thalassa-cloud/thalassa-ccm/blob/main/docs/alerts" | trimSuffix "/") .name | quote }}
{{- end -}}

{{/* Namespace that a monitor in another namespace selects from. By default, a monitor selects from its own namespace. */}}
{{- define "thalassa-csi.scrapedNamespace" -}}
{{- if (.Values.scrape).namespace -}}
namespaceSelector:
  matchNames:
    - {{ include "thalassa-csi.namespace" . | quote }}
{{- end -}}
{{- end -}}
