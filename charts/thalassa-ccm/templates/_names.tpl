{{/*
Names of the pods, as a regular expression: those that Kubernetes makes of the workload's name, and not those of a release whose
name begins like this one's. In front of the last five characters it has room for 58; a Deployment's pods also have a hash there,
of ten characters or a little less, from an alphabet of its own.
*/}}
{{- define "thalassa-ccm.podNames" -}}
{{- $name := include "thalassa-ccm.fullname" . -}}
{{- if gt (len $name) 57 -}}
{{ trunc 58 $name }}
{{- else if gt (len $name) 46 -}}
{{ $name }}-[4-9bcdf]{0,10}-?
{{- else -}}
{{ $name }}-([4-9bcdf]{5,10}-)?
{{- end -}}
[a-z0-9]{5}
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
