{{/* The pod template, the same for every kind of workload. */}}
{{- define "thalassa-ccm.podTemplate" -}}
metadata:
  annotations:
    kubectl.kubernetes.io/default-container: cloud-controller-manager
    # The configuration is read once, at the start: a new one needs new pods.
    checksum/config: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
  labels:
    {{- include "thalassa-ccm.podLabels" . | nindent 4 }}
spec:
  serviceAccountName: {{ include "thalassa-ccm.serviceAccountName" . }}
  automountServiceAccountToken: true
  hostNetwork: {{ .Values.hostNetwork }}
  dnsPolicy: {{ .Values.dnsPolicy }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    # Owner of the credential files, which others cannot read.
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: cloud-controller-manager
      {{- include "thalassa-ccm.container" . | nindent 6 }}
  volumes:
    - name: config
      configMap:
        name: {{ include "thalassa-ccm.fullname" . }}
    {{- include "thalassa-ccm.secretVolumes" . | trim | nindent 4 }}
{{- end -}}

{{/* What the configuration refers to: credentials, or a token to exchange for some, and certificates. */}}
{{- define "thalassa-ccm.secretVolumes" -}}
{{- $identity := include "thalassa-ccm.workloadIdentity" . | fromJson -}}
{{- $ca := include "thalassa-ccm.caExisting" . | fromJson -}}
{{- if $identity.enabled }}
- name: token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          path: token
          audience: {{ $identity.audience | quote }}
          expirationSeconds: 3600
{{- else }}
- name: credentials
  secret:
    secretName: {{ .Values.credentials.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if and $ca.name (eq $ca.kind "Secret") }}
- name: ca
  secret:
    secretName: {{ $ca.name }}
    defaultMode: 0440
{{- else if $ca.name }}
- name: ca
  configMap:
    name: {{ $ca.name }}
{{- end }}
{{- end -}}

{{/* Directories, never a subPath: only then does a rotated credential reach its file. */}}
{{- define "thalassa-ccm.secretMounts" -}}
{{- if (include "thalassa-ccm.workloadIdentity" . | fromJson).enabled }}
- name: token
  mountPath: {{ include "thalassa-ccm.tokenDirectory" . }}
  readOnly: true
{{- else }}
- name: credentials
  mountPath: {{ include "thalassa-ccm.credentialsDirectory" . }}
  readOnly: true
{{- end }}
{{- if (include "thalassa-ccm.caExisting" . | fromJson).name }}
- name: ca
  mountPath: {{ include "thalassa-ccm.caDirectory" . }}
  readOnly: true
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.container" -}}
image: {{ include "thalassa-ccm.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command:
  - /thalassa-cloud-controller-manager
args:
  {{- include "thalassa-ccm.args" . | trim | nindent 2 }}
env:
  - name: HOST_IP
    valueFrom:
      fieldRef:
        fieldPath: status.hostIP
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
  {{- with .Values.kubernetesServiceHost }}
  - name: KUBERNETES_SERVICE_HOST
    value: {{ . | quote }}
  {{- end }}
  {{- with .Values.kubernetesServicePort }}
  - name: KUBERNETES_SERVICE_PORT
    value: {{ include "thalassa-ccm.scalar" . | quote }}
  {{- end }}
ports:
  - name: https
    containerPort: {{ .Values.securePort }}
    protocol: TCP
# Alive does not need the cloud, ready does not need the lease: a cloud outage
# restarts nobody, and a standby does not stall a rollout.
livenessProbe:
  httpGet:
    scheme: HTTPS
    port: https
    path: /livez
  initialDelaySeconds: 15
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet:
    scheme: HTTPS
    port: https
    path: /readyz
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
# The reason why the binary gave up, shown by kubectl describe.
terminationMessagePolicy: FallbackToLogsOnError
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop:
      - ALL
  seccompProfile:
    type: RuntimeDefault
volumeMounts:
  - name: config
    mountPath: {{ include "thalassa-ccm.configDirectory" . }}
    readOnly: true
  {{- include "thalassa-ccm.secretMounts" . | trim | nindent 2 }}
{{- end -}}
