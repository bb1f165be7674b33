{{/* Ports with metrics as {"items": [{"component", "name"}]}. */}}
{{- define "thalassa-csi.metricsPorts" -}}
{{- $ports := list (dict "component" "controller" "name" "metrics") -}}
{{- range (include "thalassa-csi.sidecars" . | fromJson).items -}}
{{- $ports = append $ports (dict "component" "controller" "name" (include "thalassa-csi.portName" .)) -}}
{{- end -}}
{{- $ports = append $ports (dict "component" "node" "name" "node-metrics") -}}
{{- dict "items" $ports | toJson -}}
{{- end -}}

{{/* The endpoints of a ServiceMonitor or PodMonitor. */}}
{{- define "thalassa-csi.endpoints" -}}
{{- $scrape := .Values.scrape | default dict -}}
{{- range (include "thalassa-csi.metricsPorts" . | fromJson).items }}
- port: {{ .name }}
  path: /metrics
  interval: {{ $scrape.interval | default "30s" }}
  {{- with $scrape.timeout }}
  scrapeTimeout: {{ . }}
  {{- end }}
  {{- with $scrape.relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $scrape.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}
