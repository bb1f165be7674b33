{{/* Checks of single values with which a pod would crash or wait. Each prints one line for each problem. */}}

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
{{- include "thalassa-ccm.objectProblems" (dict "root" . "names" $names) -}}
{{- end -}}

{{- define "thalassa-ccm.validate.hosts" -}}
{{- include "thalassa-ccm.serverProblems" . -}}
{{- if and (.Values.scrape).serverName (not (include "thalassa-ccm.isHost" .Values.scrape.serverName)) }}
scrape.serverName is {{ .Values.scrape.serverName | quote }}, which is not a host: set a name or an IP address, without a scheme, a port or a path, such as api.example.com
{{- end }}
{{- if not (or (include "thalassa-ccm.isIP" .Values.bindAddress) (regexMatch "^\\$\\([A-Za-z_][A-Za-z0-9_.-]*\\)$" .Values.bindAddress)) }}
bindAddress is {{ .Values.bindAddress | quote }}, which is not an IP address: set one, such as 0.0.0.0 or ::, or $(HOST_IP)
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.image" -}}
{{- include "thalassa-ccm.imageProblems" (dict "root" . "path" "image" "image" .Values.image "example" "thalassa-cloud/thalassa-ccm/cloud-controller-manager") -}}
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
