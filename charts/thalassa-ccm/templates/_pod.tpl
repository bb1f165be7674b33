{{/* Fields of a workload for old revisions and available pods, if they are set in values. */}}
{{- define "thalassa-ccm.history" -}}
{{- $fields := dict -}}
{{- if not (kindIs "invalid" .Values.revisionHistoryLimit) -}}
{{- $_ := set $fields "revisionHistoryLimit" .Values.revisionHistoryLimit -}}
{{- end -}}
{{- with .Values.minReadySeconds -}}
{{- $_ := set $fields "minReadySeconds" . -}}
{{- end -}}
{{- with $fields -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{/*
Grace period of the pod, in seconds. The program waits for a write to the cloud for at most the timeout of one call, and needs up to 15
seconds more to release the lease and to exit.
*/}}
{{- define "thalassa-ccm.gracePeriod" -}}
{{- $call := ((.Values.cloudConfig).api).callTimeout | default 30 -}}
{{- max (int .Values.terminationGracePeriodSeconds) (add (int $call) 15) -}}
{{- end -}}

{{/* The pod template, the same for every kind of workload. */}}
{{- define "thalassa-ccm.podTemplate" -}}
metadata:
  annotations:
    kubectl.kubernetes.io/default-container: cloud-controller-manager
    {{- if not (include "thalassa-ccm.configExisting" . | fromJson).name }}
    # The program reads the configuration only when it starts. A new checksum replaces the pods.
    checksum/config: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
    {{- end }}
    {{- with merge (dict) (.Values.podAnnotations | default dict) (.Values.commonAnnotations | default dict) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "thalassa-ccm.podLabels" . | nindent 4 }}
spec:
  serviceAccountName: {{ include "thalassa-ccm.serviceAccountName" . | quote }}
  automountServiceAccountToken: {{ ne .Values.profile "managed" }}
  {{- /* The API server does not store false, and a second server-side applier would conflict about it. */}}
  {{- if eq (include "thalassa-ccm.hostNetwork" .) "true" }}
  hostNetwork: true
  {{- end }}
  dnsPolicy: {{ include "thalassa-ccm.dnsPolicy" . }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "thalassa-ccm.priorityClassName" . }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  terminationGracePeriodSeconds: {{ include "thalassa-ccm.gracePeriod" . }}
  {{- with (include "thalassa-ccm.pullSecrets" . | fromJson).items }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "thalassa-ccm.placement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .Values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: cloud-controller-manager
      {{- include "thalassa-ccm.container" . | nindent 6 }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "thalassa-ccm.volumes" . | trim | nindent 4 }}
{{- end -}}

{{/* Which nodes the pods run on. */}}
{{- define "thalassa-ccm.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "thalassa-ccm.affinity" . | fromJson }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "thalassa-ccm.tolerations" . | fromJsonArray }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with (include "thalassa-ccm.spread" . | fromJson).items }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
