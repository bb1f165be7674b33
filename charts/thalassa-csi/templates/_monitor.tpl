{{/*
Ports with metrics as {"items": [{"component", "name"}]}. Those of the sidecars for snapshots are listed even if these do not run: a port
that no pod has is not scraped, and a policy for it permits nothing. So monitors and policies do not depend on snapshots.
*/}}
{{- define "thalassa-csi.metricsPorts" -}}
{{- $ports := list -}}
{{- range list "metrics" "provisioner" "attacher" "resizer" "snapshotter" "snapshots" -}}
{{- $ports = append $ports (dict "component" "controller" "name" .) -}}
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
