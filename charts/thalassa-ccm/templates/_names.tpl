{{- define "thalassa-ccm.podNames" -}}
{{- include "thalassa-ccm.podsOf" (include "thalassa-ccm.fullname" .) -}}
{{- end -}}

{{- define "thalassa-ccm.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "thalassa-ccm.fullname" .) -}}
{{- end -}}

{{- define "thalassa-ccm.ownPodLabels" -}}
{{ include "thalassa-ccm.selectorLabels" . }}
app.kubernetes.io/component: cloud-controller-manager
k8s-app: cloud-controller-manager
{{- end -}}

{{- define "thalassa-ccm.podLabels" -}}
{{ include "thalassa-ccm.ownPodLabels" . }}
{{- with merge (dict) (.Values.podLabels | default dict) (.Values.commonLabels | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.ownLabels" -}}
{{ include "thalassa-ccm.ownPodLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "thalassa-ccm.image" -}}
{{- include "thalassa-ccm.imageOf" (dict "root" . "image" .Values.image "tag" .Chart.AppVersion) -}}
{{- end -}}
