{{/* Made by "make generate" from charts/thalassa-ccm/templates; do not edit. */}}
{{/* Fails with the output of the checks. */}}
{{- define "thalassa-csi.report" -}}
{{- $problems := list -}}
{{- range .checks -}}
{{- range splitList "\n" (include (printf "thalassa-csi.validate.%s" .) $.root) -}}
{{- with trim . -}}{{- $problems = append $problems . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (join "\n" $problems) -}}
{{- end -}}
{{- end -}}

{{- define "thalassa-csi.validate.removed" -}}
{{- range $path, $advice := .Files.Get "removed.yaml" | fromYaml }}
{{- $value := $.Values }}
{{- range $key := splitList "." $path }}
{{- $value = ternary (dict "found" $value) dict (kindIs "map" $value) }}
{{- $value = get ($value.found | default dict) $key }}
{{- end }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
{{ $path }} is not a value of this chart: {{ $advice }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The rules for names of Services are the strictest. A name that contains the release's name is cut to 63 characters. */}}
{{- define "thalassa-csi.validate.names" -}}
{{- $name := .Values.fullnameOverride | default (include "thalassa-csi.fullname" .) -}}
{{- $label := "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" -}}
{{- if and .Values.namespaceOverride (or (gt (len .Values.namespaceOverride) 63) (not (regexMatch $label .Values.namespaceOverride))) }}
namespaceOverride is {{ .Values.namespaceOverride }}, which is not a valid name of a namespace: use lower-case letters, digits and dashes, and at most 63 characters, for example --set namespaceOverride=kube-system
{{- end }}
{{- if and .Values.nameOverride (or (gt (len .Values.nameOverride) 63) (not (regexMatch $label .Values.nameOverride))) }}
nameOverride is {{ .Values.nameOverride }}, which is not valid in names and labels of objects: use lower-case letters, digits and dashes, and at most 63 characters, for example --set nameOverride=ccm
{{- else if or (gt (len $name) 63) (not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name)) }}
{{ ternary "fullnameOverride" "the name of the release" (not (empty .Values.fullnameOverride)) }} gives the objects the name {{ $name }}, which is not a valid name of a Service: a name begins with a letter and has at most 63 lower-case letters, digits and dashes, for example --set fullnameOverride=thalassa-csi
{{- end }}
{{- end -}}

{{/* Credentials in the values are complete, and set only if they are used. */}}
{{- define "thalassa-csi.validate.created" -}}
{{- $client := or .clientID .clientSecret -}}
{{- if and .enabled (not (or .personalAccessToken $client)) }}
credentials.create.personalAccessToken is required while credentials.create.enabled is true: set it, or set credentials.create.clientID and credentials.create.clientSecret, for example --set-file credentials.create.personalAccessToken=./token
{{- end }}
{{- if and .personalAccessToken $client }}
credentials.create.personalAccessToken and credentials.create.clientID exclude each other: the program authenticates with one of them, leave the other out
{{- end }}
{{- if and $client (not (and .clientID .clientSecret)) }}
credentials.create.clientID and credentials.create.clientSecret belong together: {{ ternary "clientSecret" "clientID" (not (empty .clientID)) }} is missing, for example --set-file credentials.create.{{ ternary "clientSecret=./client-secret" "clientID=./client-id" (not (empty .clientID)) }}
{{- end }}
{{- if and (not .enabled) (or .personalAccessToken $client) }}
credentials.create.enabled is false, but credentials are set under credentials.create: leave them out and name a Secret in credentials.existingSecret, or set credentials.create.enabled=true to create a Secret from them
{{- end }}
{{- end -}}

{{- define "thalassa-csi.validate.bundle" -}}
{{- $existing := include "thalassa-csi.caExisting" . | fromJson -}}
{{- if and $existing.name (include "thalassa-csi.caText" .) }}
caBundle.pem and caBundle.existing.name exclude each other: set the certificates as text, or name the object that contains them
{{- end }}
{{- if and (include "thalassa-csi.caText" .) (include "thalassa-csi.configExisting" . | fromJson).name }}
caBundle.pem and cloudConfig.existing.name exclude each other: with cloudConfig.existing, name the object with the certificates in caBundle.existing
{{- end }}
{{- if and .Values.cloudConfig.insecure (include "thalassa-csi.caFile" .) }}
cloudConfig.insecure and caBundle exclude each other: cloudConfig.insecure disables the verification that caBundle is for, leave one of them out
{{- end }}
{{- end -}}

{{/* The schema accepts these keys, because its error would not name the reason. */}}
{{- define "thalassa-csi.validate.reserved" -}}
{{- range $key, $_ := .Values.cloudConfig.additionalLabels }}
{{- if hasPrefix "k8s.thalassa.cloud/" $key }}
cloudConfig.additionalLabels contains {{ $key }}: keys that begin with k8s.thalassa.cloud/ are reserved for the cloud controller manager, choose another key
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-csi.isObjectName" -}}
{{- if and (le (len .) 253) (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" .) -}}true{{- end -}}
{{- end -}}

{{/* No message contains the value: it may contain a password. */}}
{{- define "thalassa-csi.validate.endpoint" -}}
{{- with .Values.cloudConfig.endpoint }}
{{- if not (regexMatch "^(?i:https?)://" .) }}
cloudConfig.endpoint does not begin with https:// or http://: set a URL with a scheme, a host and an optional port, such as https://api.thalassa.cloud
{{- else if contains "@" . }}
cloudConfig.endpoint contains a user name or a password: leave them out, and set the credentials with credentials.existingSecret
{{- else if not (regexMatch "^(?i:https?)://(\\[[0-9A-Fa-f:.]+\\]|[0-9A-Za-z][0-9A-Za-z_.-]*)(:[1-9][0-9]{0,4})?/?$" .) }}
cloudConfig.endpoint is not a URL with a scheme, a host and an optional port: leave out everything else, such as a path, for example --set cloudConfig.endpoint=https://api.thalassa.cloud
{{- else if gt (regexFind ":[0-9]+/?$" . | trimPrefix ":" | trimSuffix "/" | default "1" | int) 65535 }}
cloudConfig.endpoint has a port above 65535: set a port from 1 to 65535, or leave it out
{{- end }}
{{- end }}
{{- end -}}

{{/* "true" for a DNS name or an IP address. */}}
{{- define "thalassa-csi.isHost" -}}
{{- if or (include "thalassa-csi.isIP" .) (and (not (regexMatch "^[0-9.]+$" .)) (regexMatch "^[0-9A-Za-z_]([0-9A-Za-z_.-]*[0-9A-Za-z])?\\.?$" .)) -}}true{{- end -}}
{{- end -}}

{{/* "4" or "6" for an IP address of that family. */}}
{{- define "thalassa-csi.isIP" -}}
{{- $groups := regexFindAll "[0-9A-Fa-f]{1,4}" . -1 | len -}}
{{- if regexMatch "^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\\.|$)){4}$" . -}}
{{- if not (hasSuffix "." .) -}}4{{- end -}}
{{- else if regexMatch "^([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}$" . -}}
{{- "6" -}}
{{- else if and (le $groups 7) (regexMatch "^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?$" .) -}}
{{- "6" -}}
{{- end -}}
{{- end -}}

{{/* A network as {"family": "4" or "6", "bits": length of the prefix}; {} if the text is not a network. */}}
{{- define "thalassa-csi.cidr" -}}
{{- $family := include "thalassa-csi.isIP" (regexReplaceAll "/.*$" . "") -}}
{{- $bits := regexFind "/(0|[1-9][0-9]{0,2})$" . | trimPrefix "/" -}}
{{- if and $family (eq 2 (len (splitList "/" .))) $bits (le (int $bits) (ternary 32 128 (eq $family "4"))) -}}
{{- dict "family" $family "bits" (int $bits) | toJson -}}
{{- else -}}
{{- dict | toJson -}}
{{- end -}}
{{- end -}}

{{/* Not in the schema, because its errors contain the value. */}}
{{- define "thalassa-csi.validate.pem" -}}
{{- with include "thalassa-csi.caText" . }}
{{- if contains "PRIVATE KEY-----" . }}
caBundle.pem contains a private key: leave it out, and set certificates only
{{- else if not (contains "-----BEGIN CERTIFICATE-----" .) }}
caBundle.pem contains no certificate: set text that contains -----BEGIN CERTIFICATE-----, for example --set-file caBundle.pem=./ca.crt
{{- end }}
{{- end }}
{{- end -}}

{{/* The items of a list as strings, as JSON. */}}
{{- define "thalassa-csi.texts" -}}
{{- $texts := list -}}
{{- range . -}}{{- $texts = append $texts (include "thalassa-csi.scalar" .) -}}{{- end -}}
{{- $texts | toJson -}}
{{- end -}}

{{/* Takes root, path, image and example. */}}
{{- define "thalassa-csi.imageProblems" -}}
{{- $registries := dict "global.imageRegistry" (.root.Values.global).imageRegistry (printf "%s.registry" .path) .image.registry -}}
{{- range $path, $registry := $registries }}
{{- if and $registry (not (regexMatch "^([0-9A-Za-z]([0-9A-Za-z.-]*[0-9A-Za-z])?|\\[[0-9A-Fa-f:]+\\])(:[0-9]{1,5})?(/[0-9a-z._-]+)*$" $registry)) }}
{{ $path }} is {{ $registry | quote }}, which is not a registry: set a host with an optional port and path, without a scheme and without a slash at the end, such as registry.example.com:5000
{{- end }}
{{- end }}
{{- $repository := .image.repository -}}
{{- $registry := (.root.Values.global).imageRegistry | default .image.registry -}}
{{- $first := regexFind "^([^/]*[.:][^/]*|localhost)/" $repository | trimSuffix "/" -}}
{{- $rest := ternary (trimPrefix (printf "%s/" $first) $repository) $repository (not (empty $first)) -}}
{{- if contains "://" $repository }}
{{ .path }}.repository contains a scheme: leave it out, {{ .path }}.registry is the host of the registry and {{ .path }}.repository is the path
{{- else if or (contains "@" $repository) (contains ":" $rest) }}
{{ .path }}.repository contains a tag or a digest: set them in {{ .path }}.tag or {{ .path }}.digest
{{- else if and $first $registry (has $registry (list $first "ghcr.io")) }}
{{ .path }}.repository begins with the registry {{ $first }}, and {{ .path }}.registry is {{ $registry }}: set {{ .path }}.registry={{ $first }} and {{ .path }}.repository={{ $rest }}
{{- else if not (regexMatch "^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $rest) }}
{{ .path }}.repository is {{ $repository | quote }}, which is not a repository: use lower-case letters, digits and . _ - with slashes between them, such as {{ .example }}
{{- end }}
{{- if and .image.tag (not (regexMatch "^[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}$" .image.tag)) }}
{{ .path }}.tag is {{ .image.tag | quote }}, which is not a tag: use at most 128 letters, digits and . _ -, and set a digest in {{ .path }}.digest
{{- end }}
{{- end -}}

{{/* How the program authenticates is set once. */}}
{{- define "thalassa-csi.validate.secrets" -}}
{{- $identity := include "thalassa-csi.workloadIdentity" . | fromJson -}}
{{- $create := .Values.credentials.create | default dict -}}
{{- $whole := (include "thalassa-csi.configExisting" . | fromJson).name -}}
{{- if not (or .Values.credentials.existingSecret $identity.enabled $create.enabled $whole) }}
credentials.existingSecret is required: it names a Secret in namespace {{ include "thalassa-csi.namespace" . }} with the key personalAccessToken, or with the keys clientID and clientSecret, for example --set credentials.existingSecret=thalassa-credentials; without a Secret set credentials.workloadIdentity
{{- end }}
{{- if and .Values.credentials.existingSecret $identity.enabled }}
credentials.existingSecret and credentials.workloadIdentity.enabled exclude each other: with a workload identity there is no Secret, leave one of them out
{{- end }}
{{- if and .Values.credentials.existingSecret $create.enabled }}
credentials.existingSecret and credentials.create.enabled exclude each other: name an existing Secret, or let the chart create one
{{- end }}
{{- if and $identity.enabled $create.enabled }}
credentials.create.enabled and credentials.workloadIdentity.enabled exclude each other: with a workload identity there is no Secret, leave one of them out
{{- end }}
{{- if and $identity.enabled (not $identity.serviceAccountID) (not $whole) }}
credentials.workloadIdentity.serviceAccountID is required while credentials.workloadIdentity.enabled is true: it is the identity of the cloud's service account, for example --set credentials.workloadIdentity.serviceAccountID=sa-0123456789
{{- end }}
{{- include "thalassa-csi.validate.created" $create }}
{{- end -}}

{{/* Required keys, and the keys that are set although the whole file comes from elsewhere. */}}
{{- define "thalassa-csi.validate.keys" -}}
{{- $existing := (include "thalassa-csi.configExisting" . | fromJson).name -}}
{{- $config := .Values.cloudConfig -}}
{{- if $existing }}
{{- range $path := (include "thalassa-csi.changed" (dict "values" $.Values "tops" (list "cloudConfig" "advanced")) | fromJson).items }}
{{ $path }} and cloudConfig.existing.name exclude each other: {{ $existing }} contains the whole file, set it there or leave one of them out
{{- end }}
{{- else }}
{{- if not $config.organisation }}
cloudConfig.organisation is required: it names the Thalassa Cloud organisation that owns the cluster's machines, for example --set cloudConfig.organisation=my-organisation
{{- end }}
{{- if not $config.vpcIdentity }}
cloudConfig.vpcIdentity is required: it is the identity of the VPC that holds the cluster's machines, for example --set cloudConfig.vpcIdentity=vpc-0123456789
{{- end }}
{{- if not $config.cluster }}
cloudConfig.cluster is required: it is a name that no other cluster of the organisation has, for example --set cloudConfig.cluster=production
{{- end }}
{{- end }}
{{- end -}}

{{/* Values under .tops that differ from values.yaml, as {"items": [...]}, without cloudConfig.existing. */}}
{{- define "thalassa-csi.changed" -}}
{{- $defaults := include "thalassa-csi.defaults" . | fromJson -}}
{{- $set := list -}}
{{- range $top := .tops -}}
{{- range $key, $value := get $.values $top | default dict -}}
{{- $path := printf "%s.%s" $top $key -}}
{{- if eq $path "cloudConfig.existing" -}}
{{- else if and (kindIs "map" $value) (ne $key "additionalLabels") -}}
{{- range $inner, $nested := $value -}}
{{- $path := printf "%s.%s" $path $inner -}}
{{- if ne (toString $nested) (toString (get $defaults $path)) -}}{{- $set = append $set $path -}}{{- end -}}
{{- end -}}
{{- else if and (or $value (kindIs "bool" $value)) (ne (toString $value) (toString (get $defaults $path))) -}}
{{- $set = append $set $path -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "items" $set | toJson -}}
{{- end -}}

{{/* Ports in other values to which the policy does not permit connections. */}}
{{- define "thalassa-csi.blockedPorts" -}}
{{- $policy := .Values.networkPolicy | default dict -}}
{{- $server := include "thalassa-csi.scalar" (.Values.kubernetesServicePort | default "") -}}
{{- if and $server (not (has $server (include "thalassa-csi.texts" ($policy.apiServer).ports | fromJsonArray))) }}
kubernetesServicePort is {{ $server }}, which is not in networkPolicy.apiServer.ports: the policy would block connections to the API server, add the port there
{{- end }}
{{- $cloud := regexFind ":[0-9]+$" (urlParse (.Values.cloudConfig.endpoint | default "")).host | trimPrefix ":" -}}
{{- if and $cloud (not (has $cloud (include "thalassa-csi.texts" (($policy.cloudAPI).ports | default (include "thalassa-csi.cloudPorts" . | fromJsonArray)) | fromJsonArray))) }}
cloudConfig.endpoint has the port {{ $cloud }}, which is not in networkPolicy.cloudAPI.ports: the policy would block connections to the cloud, add the port there
{{- end }}
{{- end -}}

{{/* Takes root and names: those of existing objects by the paths of their values. No message contains the value: it may be the credential itself. */}}
{{- define "thalassa-csi.objectProblems" -}}
{{- $names := .names -}}
{{- range $path, $secrets := dict "imagePullSecrets" .root.Values.imagePullSecrets "global.imagePullSecrets" (.root.Values.global).imagePullSecrets }}
{{- range $index, $secret := $secrets }}
{{- $_ := set $names (printf "%s[%d]" $path $index) (ternary $secret (dict "name" $secret) (kindIs "map" $secret)).name }}
{{- end }}
{{- end }}
{{- range $path, $name := $names }}
{{- if and $name (not (include "thalassa-csi.isObjectName" $name)) }}
{{ $path }} is not the name of an object: a name has at most 253 lower-case letters, digits, dashes and dots, and begins and ends with a letter or digit; set the name, not the content (the value is not shown, because it may be secret)
{{- end }}
{{- end }}
{{- if regexMatch "^[0-9a-f]{32,}$" (.root.Values.credentials.existingSecret | default "") }}
credentials.existingSecret has the form of a token: create a Secret with the token, and set the name of the Secret here (the value is not shown, because it may be secret)
{{- end }}
{{- end -}}

{{/* The address of the API server. */}}
{{- define "thalassa-csi.serverProblems" -}}
{{- $host := .Values.kubernetesServiceHost -}}
{{- if and $host (not (include "thalassa-csi.isHost" $host)) }}
kubernetesServiceHost is {{ $host | quote }}, which is not a host: set a name or an IP address, without a scheme, a port or a path, such as api.example.com
{{- end }}
{{- $port := include "thalassa-csi.scalar" (.Values.kubernetesServicePort | default "") -}}
{{- if and $port (not (and (regexMatch "^[1-9][0-9]{0,4}$" $port) (le (int $port) 65535))) }}
kubernetesServicePort is {{ $port | quote }}, which is not a port: set a number from 1 to 65535
{{- end }}
{{- end -}}

{{/* Items that a list already has. Takes lists by their paths: own and more (items), and by (the key that is unique). */}}
{{- define "thalassa-csi.duplicates" -}}
{{- range $value, $list := . }}
{{- $taken := list -}}
{{- range $list.own -}}{{- $taken = append $taken (get . $list.by | trimSuffix "/") -}}{{- end -}}
{{- range $list.more }}
{{- $name := get . $list.by | toString | trimSuffix "/" -}}
{{- if has $name $taken }}
{{ $value }} contains {{ $list.by }} {{ $name }}, which the pod already has: leave it out
{{- end }}
{{- $taken = append $taken $name -}}
{{- end }}
{{- end }}
{{- end -}}
