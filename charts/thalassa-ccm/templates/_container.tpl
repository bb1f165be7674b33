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
# The reason why the binary gave up, shown by kubectl describe.
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
{{- with .timing }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Events about credentials are made on the pod, which only exists in the cluster it runs in: where that
is not the one that is served, the pod is not told who it is, and they are in the log.
*/}}
{{- define "thalassa-ccm.env" -}}
{{- include "thalassa-ccm.ownEnv" . }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.ownEnv" -}}
{{- if contains "$(HOST_IP)" (include "thalassa-ccm.args" .) }}
# Only for those who ask for it: a node that no cloud controller manager has initialised may have no address yet,
# and kubelet starts no container that wants to know it.
- name: HOST_IP
  valueFrom:
    fieldRef:
      fieldPath: status.hostIP
{{- end }}
{{- if ne .Values.profile "managed" }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: POD_UID
  valueFrom:
    fieldRef:
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
