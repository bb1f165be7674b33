{{/* Volumes of the pod. Files with secrets belong to the group of the pod, and other groups cannot read them. */}}
{{- define "thalassa-ccm.volumes" -}}
{{- include "thalassa-ccm.ownVolumes" . }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.ownVolumes" -}}
{{- $config := include "thalassa-ccm.configExisting" . | fromJson -}}
{{- if $config.name }}
{{- include "thalassa-ccm.objectVolume" (merge (dict "volume" "config" "otherwise" "Secret") $config) }}
{{- else }}
- name: config
  configMap:
    name: {{ include "thalassa-ccm.fullname" . | quote }}
{{- end }}
{{- if include "thalassa-ccm.ironcore" . }}
{{- include "thalassa-ccm.objectVolume" (dict "volume" "ironcore" "kind" "Secret" "name" (include "thalassa-ccm.ironcoreSecret" .)) }}
{{- else if (include "thalassa-ccm.workloadIdentity" . | fromJson).enabled }}
{{- include "thalassa-ccm.tokenVolume" . }}
{{- else }}
{{- include "thalassa-ccm.objectVolume" (dict "volume" "credentials" "kind" "Secret" "name" (include "thalassa-ccm.credentialsSecret" .)) }}
{{- end }}
{{- include "thalassa-ccm.objectVolume" (merge (dict "volume" "ca" "otherwise" "ConfigMap") (include "thalassa-ccm.caExisting" . | fromJson)) }}
{{- if eq .Values.profile "managed" }}
{{- include "thalassa-ccm.objectVolume" (dict "volume" "tenant" "kind" "Secret" "name" ((.Values.tenant).kubeconfig).existingSecret) }}
{{- end }}
{{- include "thalassa-ccm.objectVolume" (dict "volume" "tls" "kind" "Secret" "name" (.Values.metrics).tlsSecret) }}
{{- include "thalassa-ccm.objectVolume" (dict "volume" "client-ca" "kind" "Secret" "name" ((.Values.metrics).clientCA).existingSecret) }}
{{- end -}}

{{/* Directories, not subPaths: files of a subPath are not updated when the Secret changes. */}}
{{- define "thalassa-ccm.mounts" -}}
{{- include "thalassa-ccm.ownMounts" . }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.ownMounts" -}}
{{- $directories := dict "config" (include "thalassa-ccm.configDirectory" .) -}}
{{- if include "thalassa-ccm.ironcore" . -}}
{{- $_ := set $directories "ironcore" (include "thalassa-ccm.ironcoreDirectory" .) -}}
{{- else if (include "thalassa-ccm.workloadIdentity" . | fromJson).enabled -}}
{{- $_ := set $directories "token" (include "thalassa-ccm.tokenDirectory" .) -}}
{{- else if include "thalassa-ccm.credentialsSecret" . -}}
{{- $_ := set $directories "credentials" (include "thalassa-ccm.credentialsDirectory" .) -}}
{{- end -}}
{{- if (include "thalassa-ccm.caExisting" . | fromJson).name -}}
{{- $_ := set $directories "ca" (include "thalassa-ccm.caDirectory" .) -}}
{{- end -}}
{{- if eq .Values.profile "managed" -}}
{{- $_ := set $directories "tenant" (include "thalassa-ccm.tenantDirectory" .) -}}
{{- end -}}
{{- if (.Values.metrics).tlsSecret -}}
{{- $_ := set $directories "tls" (include "thalassa-ccm.tlsDirectory" .) -}}
{{- end -}}
{{- if ((.Values.metrics).clientCA).existingSecret -}}
{{- $_ := set $directories "client-ca" (include "thalassa-ccm.clientCADirectory" .) -}}
{{- end -}}
{{- range $name, $directory := $directories }}
- name: {{ $name }}
  mountPath: {{ $directory }}
  readOnly: true
{{- end }}
{{- end -}}
