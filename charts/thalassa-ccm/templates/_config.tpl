{{/* Where the pod finds its configuration and its credentials. */}}
{{- define "thalassa-ccm.configDirectory" -}}/etc/thalassa-ccm/config{{- end -}}
{{- define "thalassa-ccm.credentialsDirectory" -}}/etc/thalassa-ccm/credentials{{- end -}}

{{/*
The configuration file: the values under cloudConfig without the empty ones, and
where the credentials are. Never the credentials themselves.
*/}}
{{- define "thalassa-ccm.cloudConfig" -}}
{{- $credentials := dict "directory" (include "thalassa-ccm.credentialsDirectory" .) -}}
{{- $config := dict "cloudCredentials" $credentials -}}
{{- range $key, $value := .Values.cloudConfig -}}
{{- if not (or (kindIs "invalid" $value) (eq (toJson $value) `""`)) -}}
{{- $_ := set $config $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
