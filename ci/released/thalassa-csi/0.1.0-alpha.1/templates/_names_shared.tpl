{{/* Made by "make generate" from charts/thalassa-ccm/templates; do not edit. */}}
{{/* Name of the application: nameOverride, or the name of the chart. */}}
{{- define "thalassa-csi.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end -}}

{{/* Namespace of the objects that do not have to be in kube-system. */}}
{{- define "thalassa-csi.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{/* Name of the chart's objects: the name of the release, which contains the name of the application once. */}}
{{- define "thalassa-csi.fullname" -}}
{{- $own := include "thalassa-csi.name" . -}}
{{- $name := printf "%s-%s" .Release.Name $own -}}
{{- if contains $own .Release.Name -}}
{{- $name = .Release.Name -}}
{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The same with a suffix, in 63 characters. */}}
{{- define "thalassa-csi.nameWith" -}}
{{- $room := sub 62 (len .suffix) | int -}}
{{- include "thalassa-csi.fullname" .root | trunc $room | trimSuffix "-" -}}-{{- .suffix -}}
{{- end -}}

{{/* Labels that select the pods. They must not change, because the selector of a workload is immutable. */}}
{{- define "thalassa-csi.selectorLabels" -}}
app.kubernetes.io/name: {{ include "thalassa-csi.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/*
The label that a ServiceMonitor selects the Service by. Installers do not write it. If Argo CD tracks objects by label, it overwrites
app.kubernetes.io/instance on the Service, but not in the selector of the ServiceMonitor.
*/}}
{{- define "thalassa-csi.metricsLabels" -}}
k8s.thalassa.cloud/metrics-service: {{ include "thalassa-csi.nameWith" (dict "root" . "suffix" "metrics") | quote }}
{{- end -}}

{{/*
Labels and annotations of an object. Takes root, and optionally labels and annotations of only
this object. They take precedence over those of all objects, and the chart's own labels over both.
*/}}
{{- define "thalassa-csi.metadata" -}}
labels:
  {{- include "thalassa-csi.ownLabels" .root | nindent 2 }}
  {{- with merge (dict) (.labels | default dict) (.root.Values.commonLabels | default dict) }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The Secrets with registry credentials as {"items": [{"name": ...}]}. A global one may be only a name. */}}
{{- define "thalassa-csi.pullSecrets" -}}
{{- $secrets := list -}}
{{- range concat (.Values.imagePullSecrets | default list) ((.Values.global).imagePullSecrets | default list) -}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- dict "items" ($secrets | uniq) | toJson -}}
{{- end -}}

{{/* Image reference from an image of the values and the tag that it has by default. A digest takes precedence over a tag. */}}
{{- define "thalassa-csi.imageOf" -}}
{{- with (.root.Values.global).imageRegistry | default .image.registry }}{{ . }}/{{ end -}}
{{- .image.repository -}}
{{- if .image.digest -}}
@{{ .image.digest }}
{{- else -}}
:{{ .image.tag | default .tag }}
{{- end -}}
{{- end -}}

{{/*
Names of the pods of a workload with that name, as a regular expression: those that Kubernetes makes of the workload's name, and not those of a release whose
name begins like this one's. In front of the last five characters it has room for 58; a Deployment's pods also have a hash there,
of ten characters or a little less, from an alphabet of its own.
*/}}
{{- define "thalassa-csi.podsOf" -}}
{{- $name := . -}}
{{- if gt (len $name) 57 -}}
{{ trunc 58 $name }}
{{- else if gt (len $name) 46 -}}
{{ $name }}-[4-9bcdf]{0,10}-?
{{- else -}}
{{ $name }}-([4-9bcdf]{5,10}-)?
{{- end -}}
[a-z0-9]{5}
{{- end -}}
