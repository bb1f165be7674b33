{{/*
The flags, sorted by name. extraArgs takes precedence over the flags of the chart.
thalassa-ccm.validate refuses flags that a value of the chart sets.
*/}}
{{- define "thalassa-ccm.args" -}}
{{- $config := include "thalassa-ccm.configExisting" . | fromJson -}}
{{- $args := dict
  "authorization-always-allow-paths" "/healthz,/readyz,/livez"
  "bind-address" .Values.bindAddress
  "cloud-config" (printf "%s/%s" (include "thalassa-ccm.configDirectory" .) (ternary ($config.key | default "cloud-config.yaml") "cloud-config.yaml" (not (empty $config.name))))
  "cloud-provider" "thalassacloud"
  "concurrent-service-syncs" 10
  "leader-elect" true
  "secure-port" .Values.securePort
  "v" .Values.logVerbosity
-}}
{{- $networks := .Values.allocateNodeCIDRs | default dict -}}
{{- if $networks.enabled -}}
{{- $_ := set $args "allocate-node-cidrs" true -}}
{{- $_ := set $args "node-cidr-mask-size-ipv4" ($networks.maskSizeIPv4 | default 24) -}}
{{- $_ := set $args "node-cidr-mask-size-ipv6" ($networks.maskSizeIPv6 | default 64) -}}
{{- with $networks.serviceClusterIPRange -}}
{{- $_ := set $args "service-cluster-ip-range" . -}}
{{- end -}}
{{- end -}}
{{- with .Values.cloudConfig.cluster -}}
{{- $_ := set $args "cluster-name" . -}}
{{- end -}}
{{- if include "thalassa-ccm.ironcore" . -}}
{{- range $name, $value := include "thalassa-ccm.ironcoreArgs" . | fromJson -}}
{{- $_ := set $args $name $value -}}
{{- end -}}
{{- end -}}
{{- with include "thalassa-ccm.controllers" . -}}
{{- $_ := set $args "controllers" . -}}
{{- end -}}
{{- if (.Values.useServiceAccountCredentials).enabled -}}
{{- $_ := set $args "use-service-account-credentials" true -}}
{{- end -}}
{{- range $name, $value := include "thalassa-ccm.portArgs" . | fromJson -}}
{{- $_ := set $args $name $value -}}
{{- end -}}
{{- with .Values.tracing -}}
{{- if .endpoint -}}
{{- $_ := set $args "tracing-endpoint" .endpoint -}}
{{- if not (kindIs "invalid" .samplingRatePerMillion) -}}
{{- $_ := set $args "tracing-sampling-rate-per-million" .samplingRatePerMillion -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.profile "managed" -}}
{{- range $name, $value := include "thalassa-ccm.tenantArgs" . | fromJson -}}
{{- $_ := set $args $name $value -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.extraArgs -}}
{{- $_ := set $args $name $value -}}
{{- end -}}
{{- range $name, $value := $args }}
- {{ printf "--%s=%s" $name (include "thalassa-ccm.scalar" $value) | quote }}
{{- end -}}
{{- end -}}

{{/* The controllers that are enabled; empty if all are. */}}
{{- define "thalassa-ccm.controllers" -}}
{{- $off := list -}}
{{- range $name, $on := .Values.controllers -}}
{{- if not $on -}}{{- $off = append $off (printf ",-%s" $name) -}}{{- end -}}
{{- end -}}
{{- if $off -}}*{{ join "" $off }}{{- end -}}
{{- end -}}

{{/* Certificate of the HTTPS port, and certificate authority of its clients. */}}
{{- define "thalassa-ccm.portArgs" -}}
{{- $args := dict -}}
{{- if (.Values.metrics).tlsSecret -}}
{{- $_ := set $args "tls-cert-file" (printf "%s/tls.crt" (include "thalassa-ccm.tlsDirectory" .)) -}}
{{- $_ := set $args "tls-private-key-file" (printf "%s/tls.key" (include "thalassa-ccm.tlsDirectory" .)) -}}
{{- end -}}
{{- if ((.Values.metrics).clientCA).existingSecret -}}
{{- $_ := set $args "client-ca-file" (printf "%s/%s" (include "thalassa-ccm.clientCADirectory" .) (.Values.metrics.clientCA.key | default "ca.crt")) -}}
{{- end -}}
{{- toJson $args -}}
{{- end -}}

{{/*
All requests to Kubernetes go to the served cluster. Its certificate authorities are
not trusted, because its users are not those of the provider.
*/}}
{{- define "thalassa-ccm.tenantArgs" -}}
{{- $kubeconfig := printf "%s/%s" (include "thalassa-ccm.tenantDirectory" .) (((.Values.tenant).kubeconfig).key | default "kubeconfig") -}}
{{- dict
  "authentication-kubeconfig" $kubeconfig
  "authentication-skip-lookup" true
  "authorization-kubeconfig" $kubeconfig
  "kubeconfig" $kubeconfig | toJson -}}
{{- end -}}
