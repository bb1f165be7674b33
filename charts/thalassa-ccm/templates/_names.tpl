{{/* Name of the chart's objects: the release's name, with the chart's name once. */}}
{{- define "thalassa-ccm.fullname" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- $name = .Release.Name -}}
{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "thalassa-ccm.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "thalassa-ccm.fullname" .) -}}
{{- end -}}

{{/* Labels pods are selected by. A DaemonSet's selector cannot be changed: these must stay as they are. */}}
{{- define "thalassa-ccm.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "thalassa-ccm.podLabels" -}}
{{ include "thalassa-ccm.selectorLabels" . }}
app.kubernetes.io/component: cloud-controller-manager
k8s-app: cloud-controller-manager
{{- end -}}

{{- define "thalassa-ccm.labels" -}}
{{ include "thalassa-ccm.podLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* Image reference. A digest wins over the tag, so that what was tested is what runs. */}}
{{- define "thalassa-ccm.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
