{{/* The address of the API server, if it is set in values. */}}
{{- define "thalassa-csi.serverEnv" -}}
{{- with .Values.kubernetesServiceHost }}
- name: KUBERNETES_SERVICE_HOST
  value: {{ . | quote }}
{{- end }}
{{- with .Values.kubernetesServicePort }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ include "thalassa-csi.scalar" . | quote }}
{{- end }}
{{- end -}}

{{- define "thalassa-csi.probe" -}}
httpGet:
  port: {{ .port }}
  path: {{ .path }}
{{- $timing := .timing | default dict }}
{{- /* The API server does not store a delay of 0, and a second server-side applier would conflict about it. */}}
{{- if not $timing.initialDelaySeconds }}{{ $timing = omit $timing "initialDelaySeconds" }}{{ end }}
{{- with $timing }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What the containers of the controller and of the node plug-in have in common. Takes root, component and port, the name of its port. */}}
{{- define "thalassa-csi.driver" -}}
{{- $values := index .root.Values .component -}}
name: thalassa-csi-driver
image: {{ include "thalassa-csi.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command:
  - /thalassa-csi-driver
  - {{ .component }}
args:
  {{- include (printf "thalassa-csi.%sArgs" .component) .root | trim | nindent 2 }}
env:
  {{- include (printf "thalassa-csi.%sEnv" .component) .root | trim | nindent 2 }}
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  - name: {{ .port }}
    containerPort: {{ $values.httpPort }}
    protocol: TCP
livenessProbe:
  {{- include "thalassa-csi.probe" (dict "port" .port "path" "/livez" "timing" $values.livenessProbe) | nindent 2 }}
readinessProbe:
  {{- include "thalassa-csi.probe" (dict "port" .port "path" "/readyz" "timing" $values.readinessProbe) | nindent 2 }}
# kubectl describe shows the reason why the program ended.
terminationMessagePolicy: FallbackToLogsOnError
{{- with $values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Fields of both pods after the service account. Takes root and component. */}}
{{- define "thalassa-csi.placement" -}}
{{- $values := index .root.Values .component -}}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with (include "thalassa-csi.pullSecrets" .root | fromJson).items }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include (printf "thalassa-csi.%sAffinity" .component) .root | fromJson }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* An affinity without the keys that are null. */}}
{{- define "thalassa-csi.withoutNull" -}}
{{- $kept := dict -}}
{{- range $key, $value := . -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $kept $key $value -}}{{- end -}}
{{- end -}}
{{- $kept | toJson -}}
{{- end -}}

{{/* Annotations of the pods of a component. Takes root and component. */}}
{{- define "thalassa-csi.podAnnotations" -}}
kubectl.kubernetes.io/default-container: thalassa-csi-driver
{{- with merge (dict) ((index .root.Values .component).podAnnotations | default dict) (.root.Values.commonAnnotations | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end -}}
