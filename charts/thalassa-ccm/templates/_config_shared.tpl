{{/* Paths of the configuration, the credentials and additional certificates in the pod. */}}
{{- define "thalassa-ccm.configDirectory" -}}/etc/thalassa-ccm/config{{- end -}}

{{- define "thalassa-ccm.credentialsDirectory" -}}/etc/thalassa-ccm/credentials{{- end -}}

{{- define "thalassa-ccm.tokenDirectory" -}}/var/run/secrets/thalassa{{- end -}}

{{- define "thalassa-ccm.caDirectory" -}}/etc/thalassa-ccm/ca{{- end -}}

{{/* Sections that may be null, as JSON. */}}
{{- define "thalassa-ccm.workloadIdentity" -}}
{{- .Values.credentials.workloadIdentity | default dict | toJson -}}
{{- end -}}

{{- define "thalassa-ccm.caExisting" -}}
{{- (.Values.caBundle).existing | default dict | toJson -}}
{{- end -}}

{{- define "thalassa-ccm.configExisting" -}}
{{- .Values.cloudConfig.existing | default dict | toJson -}}
{{- end -}}

{{- define "thalassa-ccm.caText" -}}{{- (.Values.caBundle).pem | default "" -}}{{- end -}}

{{/* Name of the Secret with the credentials: an existing one, or the one created from values. Empty: none. */}}
{{- define "thalassa-ccm.credentialsSecret" -}}
{{- if ((.Values.credentials).create).enabled -}}
{{- include "thalassa-ccm.nameWith" (dict "root" . "suffix" "credentials") -}}
{{- else -}}
{{- .Values.credentials.existingSecret | default "" -}}
{{- end -}}
{{- end -}}

{{/* Path of the file with additional certificates; empty if there is none. */}}
{{- define "thalassa-ccm.caFile" -}}
{{- $existing := include "thalassa-ccm.caExisting" . | fromJson -}}
{{- if $existing.name -}}
{{- include "thalassa-ccm.caDirectory" . -}}/{{- $existing.key | default "ca.crt" -}}
{{- else if include "thalassa-ccm.caText" . -}}
{{- include "thalassa-ccm.configDirectory" . -}}/ca.crt
{{- end -}}
{{- end -}}

{{/* How the program authenticates: the paths of the credentials, not the credentials. */}}
{{- define "thalassa-ccm.cloudCredentials" -}}
{{- $identity := include "thalassa-ccm.workloadIdentity" . | fromJson -}}
{{- if $identity.enabled -}}
{{- $exchange := dict
  "serviceAccountID" $identity.serviceAccountID
  "subjectTokenFile" (printf "%s/token" (include "thalassa-ccm.tokenDirectory" .))
  "lifetime" ($identity.lifetime | default 3600)
-}}
{{- with $identity.organisationID -}}
{{- $_ := set $exchange "organisationID" . -}}
{{- end -}}
{{- dict "workloadIdentity" $exchange | toJson -}}
{{- else -}}
{{- dict "directory" (include "thalassa-ccm.credentialsDirectory" .) | toJson -}}
{{- end -}}
{{- end -}}

{{/* The keys of the configuration file under cloudConfig and advanced, as JSON. */}}
{{- define "thalassa-ccm.configKeys" -}}
{{- $keys := deepCopy (omit .Values.cloudConfig "existing") -}}
{{- range $section, $values := .Values.advanced | default dict -}}
{{- with $values -}}
{{- $_ := set $keys $section (merge (dict) . (get $keys $section | default dict)) -}}
{{- end -}}
{{- end -}}
{{- with $keys.loadBalancer -}}
{{- if kindIs "invalid" .creationPollInterval -}}{{- $_ := unset . "creationPollInterval" -}}{{- end -}}
{{- end -}}
{{- toJson $keys -}}
{{- end -}}

{{/*
The configuration file: the values under cloudConfig and advanced that are not empty, and the
paths of the credentials. It does not contain the credentials.
*/}}
{{- define "thalassa-ccm.cloudConfig" -}}
{{- $config := dict "cloudCredentials" (include "thalassa-ccm.cloudCredentials" . | fromJson) -}}
{{- with include "thalassa-ccm.caFile" . -}}
{{- $_ := set $config "caBundle" . -}}
{{- end -}}
{{- range $key, $value := include "thalassa-ccm.configKeys" . | fromJson -}}
{{- if not (or (kindIs "invalid" $value) (eq (toJson $value) `""`)) -}}
{{- $_ := set $config $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* A volume from a Secret or ConfigMap; empty without a name. */}}
{{- define "thalassa-ccm.objectVolume" -}}
{{- if and .name (eq (.kind | default .otherwise) "Secret") }}
- name: {{ .volume }}
  secret:
    secretName: {{ .name | quote }}
    defaultMode: 0440
{{- else if .name }}
- name: {{ .volume }}
  configMap:
    name: {{ .name | quote }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.tokenVolume" }}
- name: token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          path: token
          audience: {{ .Values.credentials.workloadIdentity.audience | default "https://api.thalassa.cloud" | quote }}
          expirationSeconds: 3600
{{- end -}}

{{/* A value as a string. JSON, because Go formats the number 1000000 as 1e+06. */}}
{{- define "thalassa-ccm.scalar" -}}
{{- if kindIs "string" . -}}{{ . }}{{- else -}}{{ toJson . }}{{- end -}}
{{- end -}}
