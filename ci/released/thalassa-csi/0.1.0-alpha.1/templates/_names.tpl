{{/* Name of a component's objects. Takes root and component: controller or node. */}}
{{- define "thalassa-csi.componentName" -}}
{{- include "thalassa-csi.nameWith" (dict "root" .root "suffix" .component) -}}
{{- end -}}

{{/* Name of the ServiceAccount of a component. Takes root and component. */}}
{{- define "thalassa-csi.accountName" -}}
{{- (index .root.Values .component).serviceAccount.name | default (include "thalassa-csi.componentName" .) -}}
{{- end -}}

{{/* Labels that select the pods of a component. They must not change, because the selector of a workload is immutable. */}}
{{- define "thalassa-csi.componentLabels" -}}
{{ include "thalassa-csi.selectorLabels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "thalassa-csi.podLabels" -}}
{{ include "thalassa-csi.componentLabels" . }}
{{- with merge (dict) ((index .root.Values .component).podLabels | default dict) (.root.Values.commonLabels | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "thalassa-csi.ownLabels" -}}
{{ include "thalassa-csi.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* Labels and annotations of an object of a component. Takes root, component, and optionally annotations. */}}
{{- define "thalassa-csi.componentMetadata" -}}
{{- $labels := dict "app.kubernetes.io/component" .component -}}
{{- include "thalassa-csi.metadata" (dict "root" .root "labels" $labels "annotations" .annotations) -}}
{{- end -}}

{{- define "thalassa-csi.image" -}}
{{- include "thalassa-csi.imageOf" (dict "root" . "image" .Values.image "tag" .Chart.AppVersion) -}}
{{- end -}}

{{/* The driver's name. It never changes: PersistentVolumes contain it. */}}
{{- define "thalassa-csi.driverName" -}}csi.k8s.thalassa.cloud{{- end -}}
