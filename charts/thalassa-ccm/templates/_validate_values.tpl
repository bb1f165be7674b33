{{/* Checks of single values with which a pod would crash or wait. Each prints one line for each problem. */}}

{{/* The schema accepts these keys, because its error would not name the reason. */}}
{{- define "thalassa-ccm.validate.reserved" -}}
{{- range $key, $_ := .Values.cloudConfig.additionalLabels }}
{{- if hasPrefix "k8s.thalassa.cloud/" $key }}
cloudConfig.additionalLabels contains {{ $key }}: keys that begin with k8s.thalassa.cloud/ are reserved for the cloud controller manager, choose another key
{{- end }}
{{- end }}
{{- end -}}

{{/* Names of existing objects. No message contains the value: it may be the credential itself. */}}
{{- define "thalassa-ccm.validate.objects" -}}
{{- $names := dict
  "caBundle.existing.name" ((.Values.caBundle).existing).name
  "cloudConfig.existing.name" (.Values.cloudConfig.existing).name
  "credentials.existingSecret" .Values.credentials.existingSecret
  "ironcore.kubeconfig.existingSecret" ((.Values.ironcore).kubeconfig).existingSecret
  "metrics.clientCA.existingSecret" ((.Values.metrics).clientCA).existingSecret
  "metrics.tlsSecret" (.Values.metrics).tlsSecret
  "scrape.ca.existingSecret" ((.Values.scrape).ca).existingSecret
  "scrape.clientCertificate.existingSecret" ((.Values.scrape).clientCertificate).existingSecret
  "scrape.token.existingSecret" ((.Values.scrape).token).existingSecret
  "serviceAccount.name" .Values.serviceAccount.name
  "tenant.kubeconfig.existingSecret" ((.Values.tenant).kubeconfig).existingSecret
-}}
{{- range $path, $secrets := dict "imagePullSecrets" .Values.imagePullSecrets "global.imagePullSecrets" (.Values.global).imagePullSecrets }}
{{- range $index, $secret := $secrets }}
{{- $_ := set $names (printf "%s[%d]" $path $index) (ternary $secret (dict "name" $secret) (kindIs "map" $secret)).name }}
{{- end }}
{{- end }}
{{- range $path, $name := $names }}
{{- if and $name (not (include "thalassa-ccm.isObjectName" $name)) }}
{{ $path }} is not the name of an object: a name has at most 253 lower-case letters, digits, dashes and dots, and begins and ends with a letter or digit; set the name, not the content (the value is not shown, because it may be secret)
{{- end }}
{{- end }}
{{- if regexMatch "^[0-9a-f]{32,}$" (.Values.credentials.existingSecret | default "") }}
credentials.existingSecret has the form of a token: create a Secret with the token, and set the name of the Secret here (the value is not shown, because it may be secret)
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.isObjectName" -}}
{{- if and (le (len .) 253) (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" .) -}}true{{- end -}}
{{- end -}}

{{/* No message contains the value: it may contain a password. */}}
{{- define "thalassa-ccm.validate.endpoint" -}}
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

{{- define "thalassa-ccm.validate.hosts" -}}
{{- $hosts := dict "kubernetesServiceHost" .Values.kubernetesServiceHost "scrape.serverName" (.Values.scrape).serverName -}}
{{- range $path, $host := $hosts }}
{{- if and $host (not (include "thalassa-ccm.isHost" $host)) }}
{{ $path }} is {{ $host | quote }}, which is not a host: set a name or an IP address, without a scheme, a port or a path, such as api.example.com
{{- end }}
{{- end }}
{{- $port := include "thalassa-ccm.scalar" (.Values.kubernetesServicePort | default "") -}}
{{- if and $port (not (and (regexMatch "^[1-9][0-9]{0,4}$" $port) (le (int $port) 65535))) }}
kubernetesServicePort is {{ $port | quote }}, which is not a port: set a number from 1 to 65535
{{- end }}
{{- if not (or (include "thalassa-ccm.isIP" .Values.bindAddress) (regexMatch "^\\$\\([A-Za-z_][A-Za-z0-9_.-]*\\)$" .Values.bindAddress)) }}
bindAddress is {{ .Values.bindAddress | quote }}, which is not an IP address: set one, such as 0.0.0.0 or ::, or $(HOST_IP)
{{- end }}
{{- end -}}

{{/* "true" for a DNS name or an IP address. */}}
{{- define "thalassa-ccm.isHost" -}}
{{- if or (include "thalassa-ccm.isIP" .) (and (not (regexMatch "^[0-9.]+$" .)) (regexMatch "^[0-9A-Za-z_]([0-9A-Za-z_.-]*[0-9A-Za-z])?\\.?$" .)) -}}true{{- end -}}
{{- end -}}

{{/* "4" or "6" for an IP address of that family. */}}
{{- define "thalassa-ccm.isIP" -}}
{{- $groups := regexFindAll "[0-9A-Fa-f]{1,4}" . -1 | len -}}
{{- if regexMatch "^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\\.|$)){4}$" . -}}
{{- if not (hasSuffix "." .) -}}4{{- end -}}
{{- else if regexMatch "^([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}$" . -}}
{{- "6" -}}
{{- else if and (le $groups 7) (regexMatch "^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?$" .) -}}
{{- "6" -}}
{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.validate.image" -}}
{{- $registries := dict "global.imageRegistry" (.Values.global).imageRegistry "image.registry" .Values.image.registry -}}
{{- range $path, $registry := $registries }}
{{- if and $registry (not (regexMatch "^([0-9A-Za-z]([0-9A-Za-z.-]*[0-9A-Za-z])?|\\[[0-9A-Fa-f:]+\\])(:[0-9]{1,5})?(/[0-9a-z._-]+)*$" $registry)) }}
{{ $path }} is {{ $registry | quote }}, which is not a registry: set a host with an optional port and path, without a scheme and without a slash at the end, such as registry.example.com:5000
{{- end }}
{{- end }}
{{- $repository := .Values.image.repository -}}
{{- $registry := (.Values.global).imageRegistry | default .Values.image.registry -}}
{{- $first := regexFind "^([^/]*[.:][^/]*|localhost)/" $repository | trimSuffix "/" -}}
{{- $rest := ternary (trimPrefix (printf "%s/" $first) $repository) $repository (not (empty $first)) -}}
{{- if contains "://" $repository }}
image.repository contains a scheme: leave it out, image.registry is the host of the registry and image.repository is the path
{{- else if or (contains "@" $repository) (contains ":" $rest) }}
image.repository contains a tag or a digest: set them in image.tag or image.digest
{{- else if and $first $registry (has $registry (list $first "ghcr.io")) }}
image.repository begins with the registry {{ $first }}, and image.registry is {{ $registry }}: set image.registry={{ $first }} and image.repository={{ $rest }}
{{- else if not (regexMatch "^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $rest) }}
image.repository is {{ $repository | quote }}, which is not a repository: use lower-case letters, digits and . _ - with slashes between them, such as thalassa-cloud/thalassa-ccm/cloud-controller-manager
{{- end }}
{{- if and .Values.image.tag (not (regexMatch "^[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}$" .Values.image.tag)) }}
image.tag is {{ .Values.image.tag | quote }}, which is not a tag: use at most 128 letters, digits and . _ -, and set a digest in image.digest
{{- end }}
{{- end -}}

{{/* A network as {"family": "4" or "6", "bits": length of the prefix}; {} if the text is not a network. */}}
{{- define "thalassa-ccm.cidr" -}}
{{- $family := include "thalassa-ccm.isIP" (regexReplaceAll "/.*$" . "") -}}
{{- $bits := regexFind "/(0|[1-9][0-9]{0,2})$" . | trimPrefix "/" -}}
{{- if and $family (eq 2 (len (splitList "/" .))) $bits (le (int $bits) (ternary 32 128 (eq $family "4"))) -}}
{{- dict "family" $family "bits" (int $bits) | toJson -}}
{{- else -}}
{{- dict | toJson -}}
{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.validate.cidrs" -}}
{{- $lists := dict
  "allocateNodeCIDRs.serviceClusterIPRange" (splitList "," ((.Values.allocateNodeCIDRs).serviceClusterIPRange | default "") | compact)
  "cloudConfig.clusterCIDR" (splitList "," (.Values.cloudConfig.clusterCIDR | default "") | compact)
  "networkPolicy.apiServer.cidrs" ((.Values.networkPolicy).apiServer).cidrs
  "networkPolicy.cloudAPI.cidrs" ((.Values.networkPolicy).cloudAPI).cidrs
-}}
{{- range $path, $list := $lists }}
{{- $families := list -}}
{{- range $list }}
{{- $family := (include "thalassa-ccm.cidr" (trim .) | fromJson).family -}}
{{- $families = append $families $family -}}
{{- if not $family }}
{{ $path }} contains {{ . | quote }}, which is not a network: set an address, a slash and the length of the prefix (at most 32 for IPv4, 128 for IPv6), such as 10.244.0.0/16 or fd00:244::/48
{{- end }}
{{- end }}
{{- if and (eq $path "cloudConfig.clusterCIDR") (not (has nil $families)) (ne (len $families) (len (uniq $families))) }}
{{ $path }} contains two networks of one family: set one network, or one IPv4 and one IPv6 network with a comma between them
{{- end }}
{{- end }}
{{- end -}}

{{/* The networks of nodes fit into the network of all pods. */}}
{{- define "thalassa-ccm.validate.masks" -}}
{{- $networks := .Values.allocateNodeCIDRs | default dict -}}
{{- if $networks.enabled }}
{{- range $text := splitList "," (.Values.cloudConfig.clusterCIDR | default "") }}
{{- $network := include "thalassa-ccm.cidr" (trim $text) | fromJson -}}
{{- $key := printf "maskSizeIPv%s" ($network.family | default "4") -}}
{{- $bits := get $networks $key | default (ternary 24 64 (eq $key "maskSizeIPv4")) | int -}}
{{- if and $network.family (lt $bits (int $network.bits)) }}
allocateNodeCIDRs.{{ $key }} is {{ $bits }}, which does not fit into {{ $text }} of cloudConfig.clusterCIDR: set {{ int $network.bits }} to {{ ternary 32 128 (eq $network.family "4") }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.replicas" -}}
{{- if and (include "thalassa-ccm.hosting" .) (eq (include "thalassa-ccm.kind" .) "DaemonSet") (ne (int .Values.replicas) 2) }}
replicas={{ .Values.replicas }} is only for kind=Deployment: a DaemonSet runs one pod on each node that matches, leave replicas out or set kind=Deployment
{{- end }}
{{- end -}}

{{/* Not in the schema, because its errors contain the value. */}}
{{- define "thalassa-ccm.validate.pem" -}}
{{- with include "thalassa-ccm.caText" . }}
{{- if contains "PRIVATE KEY-----" . }}
caBundle.pem contains a private key: leave it out, and set certificates only
{{- else if not (contains "-----BEGIN CERTIFICATE-----" .) }}
caBundle.pem contains no certificate: set text that contains -----BEGIN CERTIFICATE-----, for example --set-file caBundle.pem=./ca.crt
{{- end }}
{{- end }}
{{- end -}}
