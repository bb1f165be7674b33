{{- define "thalassa-ccm.container" -}}
image: {{ include "thalassa-ccm.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command:
  - /thalassa-cloud-controller-manager
args:
  {{- include "thalassa-ccm.args" . | trim | nindent 2 }}
{{- with include "thalassa-ccm.env" . | trim }}
env:
  {{- . | nindent 2 }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: metrics
    containerPort: {{ .Values.securePort }}
    protocol: TCP
livenessProbe:
  {{- include "thalassa-ccm.probe" (dict "path" "/livez" "timing" .Values.livenessProbe) | nindent 2 }}
readinessProbe:
  {{- include "thalassa-ccm.probe" (dict "path" "/readyz" "timing" .Values.readinessProbe) | nindent 2 }}
# kubectl describe shows the reason why the program ended.
terminationMessagePolicy: FallbackToLogsOnError
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- include "thalassa-ccm.mounts" . | trim | nindent 2 }}
{{- end -}}

{{- define "thalassa-ccm.probe" -}}
httpGet:
  scheme: HTTPS
  port: metrics
  path: {{ .path }}
{{- $timing := .timing | default dict }}
{{- /* The API server does not store a delay of 0, and a second server-side applier would conflict about it. */}}
{{- if not $timing.initialDelaySeconds }}{{ $timing = omit $timing "initialDelaySeconds" }}{{ end }}
{{- with $timing }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Events about credentials are created on the pod. The pod does not exist in a served cluster that is
another one. Then the pod has no variables with its name, and the log contains these events.
*/}}
{{- define "thalassa-ccm.env" -}}
{{- include "thalassa-ccm.ownEnv" . }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.ownEnv" -}}
{{- if contains "$(HOST_IP)" (include "thalassa-ccm.args" .) }}
# Only if a flag refers to it: a node that is not initialised may have no address, and the kubelet then
# does not start a container that refers to the address.
- name: HOST_IP
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: status.hostIP
{{- end }}
{{- if ne .Values.profile "managed" }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.namespace
- name: POD_UID
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.uid
{{- end }}
{{- with .Values.kubernetesServiceHost }}
- name: KUBERNETES_SERVICE_HOST
  value: {{ . | quote }}
{{- end }}
{{- with .Values.kubernetesServicePort }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ include "thalassa-ccm.scalar" . | quote }}
{{- end }}
{{- end -}}
