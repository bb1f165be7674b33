{{/* "true" if the cloud is IronCore. */}}
{{- define "thalassa-ccm.ironcore" -}}
{{- if eq .Values.cloud "ironcore" -}}true{{- end -}}
{{- end -}}

{{/* "true" if this release installs only the permissions in the cloud. */}}
{{- define "thalassa-ccm.inCloud" -}}
{{- if eq (.Values.part | default "") "cloud" -}}true{{- end -}}
{{- end -}}

{{/* "true" if this release installs the workload: profile self-managed, or part hosting. */}}
{{- define "thalassa-ccm.hosting" -}}
{{- if and (not (include "thalassa-ccm.inCloud" .)) (or (ne .Values.profile "managed") (eq (.Values.part | default "") "hosting")) -}}true{{- end -}}
{{- end -}}

{{/* "true" if this release is in the served cluster: profile self-managed, or part tenant. */}}
{{- define "thalassa-ccm.served" -}}
{{- if and (not (include "thalassa-ccm.inCloud" .)) (or (ne .Values.profile "managed") (eq (.Values.part | default "") "tenant")) -}}true{{- end -}}
{{- end -}}

{{/* Default of a value that is null; it depends on the profile. */}}
{{- define "thalassa-ccm.kind" -}}
{{- .Values.kind | default (ternary "Deployment" "DaemonSet" (eq .Values.profile "managed")) -}}
{{- end -}}

{{- define "thalassa-ccm.hostNetwork" -}}
{{- if kindIs "invalid" .Values.hostNetwork -}}{{ ne .Values.profile "managed" }}{{- else -}}{{ .Values.hostNetwork }}{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.dnsPolicy" -}}
{{- .Values.dnsPolicy | default (ternary "ClusterFirst" "Default" (eq .Values.profile "managed")) -}}
{{- end -}}

{{- define "thalassa-ccm.priorityClassName" -}}
{{- if not (kindIs "invalid" .Values.priorityClassName) -}}
{{- .Values.priorityClassName -}}
{{- else if ne .Values.profile "managed" -}}
system-cluster-critical
{{- end -}}
{{- end -}}

{{/* All taints: new nodes have several taints, and these pods remove the first of them. */}}
{{- define "thalassa-ccm.tolerations" -}}
{{- if not (kindIs "invalid" .Values.tolerations) -}}
{{- .Values.tolerations | toJson -}}
{{- else if ne .Values.profile "managed" -}}
[{"operator": "Exists"}]
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{/* The label of control-plane nodes has a value in some distributions, and an empty value in others. */}}
{{- define "thalassa-ccm.controlPlane" -}}
requiredDuringSchedulingIgnoredDuringExecution:
  nodeSelectorTerms:
    - matchExpressions:
        - key: node-role.kubernetes.io/control-plane
          operator: Exists
{{- end -}}

{{- define "thalassa-ccm.antiAffinity" -}}
preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "thalassa-ccm.selectorLabels" . | nindent 10 }}
{{- end -}}

{{- define "thalassa-ccm.affinity" -}}
{{- $affinity := dict -}}
{{- if not (kindIs "invalid" .Values.affinity) -}}
{{- range $key, $value := .Values.affinity -}}
{{- if not (kindIs "invalid" $value) -}}{{- $_ := set $affinity $key $value -}}{{- end -}}
{{- end -}}
{{- else if ne .Values.profile "managed" -}}
{{- $_ := set $affinity "nodeAffinity" (include "thalassa-ccm.controlPlane" . | fromYaml) -}}
{{- end -}}
{{- if and (eq (include "thalassa-ccm.kind" .) "Deployment") (not (hasKey $affinity "podAntiAffinity")) -}}
{{- $_ := set $affinity "podAntiAffinity" (include "thalassa-ccm.antiAffinity" . | fromYaml) -}}
{{- end -}}
{{- $affinity | toJson -}}
{{- end -}}

{{/* Constraints as {"items": [...]}. A constraint without a selector applies to the chart's pods. */}}
{{- define "thalassa-ccm.spread" -}}
{{- $constraints := list -}}
{{- $selector := dict "labelSelector" (dict "matchLabels" (include "thalassa-ccm.selectorLabels" . | fromYaml)) -}}
{{- if not (kindIs "invalid" .Values.topologySpreadConstraints) -}}
{{- range .Values.topologySpreadConstraints -}}
{{- $constraints = append $constraints (ternary . (merge (deepCopy .) $selector) (hasKey . "labelSelector")) -}}
{{- end -}}
{{- else if eq (include "thalassa-ccm.kind" .) "Deployment" -}}
{{- $zones := dict "maxSkew" 1 "topologyKey" "topology.kubernetes.io/zone" "whenUnsatisfiable" "ScheduleAnyway" -}}
{{- $constraints = append $constraints (merge $zones $selector) -}}
{{- end -}}
{{- dict "items" $constraints | toJson -}}
{{- end -}}

{{/* Two pods on one host need the same port. There, the old pod is stopped before the new one starts. */}}
{{- define "thalassa-ccm.strategy" -}}
{{- if .Values.updateStrategy -}}
{{- .Values.updateStrategy | toYaml -}}
{{- else if eq (include "thalassa-ccm.kind" .) "DaemonSet" -}}
type: RollingUpdate
rollingUpdate:
  # The old pod is stopped first, because both pods need the same port of the host.
  maxSurge: 0
  maxUnavailable: 1
{{- else if eq (include "thalassa-ccm.hostNetwork" .) "true" -}}
# All old pods are stopped first. Otherwise, with fewer nodes than pods, a pod that waits for the port would be the only
# pod that may be unavailable, and no old pod would be stopped. No pod is active until the new ones have started.
type: Recreate
{{- else -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: 1
  maxUnavailable: 0
{{- end -}}
{{- end -}}

{{/*
"true" if the configuration refers to files with secrets (credentials or certificates), which are
read again when they change. The token of a workload identity is not one of these files.
*/}}
{{- define "thalassa-ccm.secretFiles" -}}
{{- $identity := include "thalassa-ccm.workloadIdentity" . | fromJson -}}
{{- if or (include "thalassa-ccm.ironcore" .) (include "thalassa-ccm.configExisting" . | fromJson).name (not $identity.enabled) (include "thalassa-ccm.caFile" .) -}}true{{- end -}}
{{- end -}}

{{/* "true" if the cloud is not checked periodically for manual changes and orphans. IronCore is watched instead. */}}
{{- define "thalassa-ccm.resyncDisabled" -}}
{{- if include "thalassa-ccm.ironcore" . -}}true
{{- else if eq (toString (.Values.cloudConfig.loadBalancer).driftPeriod) "0" -}}true{{- end -}}
{{- end -}}

{{/* "true" if orphans are deleted, or if the configuration is not known to the chart. */}}
{{- define "thalassa-ccm.removesOrphans" -}}
{{- if or (include "thalassa-ccm.configExisting" . | fromJson).name (.Values.cloudConfig.loadBalancer).removeOrphans -}}true{{- end -}}
{{- end -}}

{{/* "true" if routes are enabled, or if the configuration is not known to the chart. With IronCore they are enabled by a flag. */}}
{{- define "thalassa-ccm.routes" -}}
{{- if include "thalassa-ccm.ironcore" . -}}
{{- if (.Values.cloudConfig.routes).enabled -}}true{{- end -}}
{{- else if or (include "thalassa-ccm.configExisting" . | fromJson).name (.Values.cloudConfig.routes).enabled -}}true{{- end -}}
{{- end -}}

{{/*
The controllers that are active in the served cluster, as {"nodes", "lifecycle", "services", "routes", "networks"}.
A controller that is disabled, by its flag or by the configuration, needs no permissions.
*/}}
{{- define "thalassa-ccm.work" -}}
{{- $on := .Values.controllers | default dict -}}
{{- $config := .Values.cloudConfig | default dict -}}
{{- $instances := true -}}
{{- $balancers := true -}}
{{- if not (or (include "thalassa-ccm.ironcore" .) (include "thalassa-ccm.configExisting" . | fromJson).name) -}}
{{- $instances = dig "instancesV2" "enabled" true $config -}}
{{- $balancers = dig "loadBalancer" "enabled" true $config -}}
{{- end -}}
{{- dict
  "nodes" (and $instances (dig "cloud-node-controller" true $on))
  "lifecycle" (and $instances (dig "cloud-node-lifecycle-controller" true $on))
  "services" (and $balancers (dig "service-lb-controller" true $on))
  "routes" (eq (include "thalassa-ccm.routes" .) "true")
  "networks" (not (not (.Values.allocateNodeCIDRs).enabled)) | toJson -}}
{{- end -}}

{{/* For the admission policy, as JSON: the defaults of Services that limit who can connect. They count as the annotation on each Service. */}}
{{- define "thalassa-ccm.limitingDefaults" -}}
{{- $names := list -}}
{{- range $name, $value := (.Values.cloudConfig.loadBalancer | default dict).defaults | default dict -}}
{{- $text := $value | toString | trim -}}
{{- if or (has $name (list "acl-allowed-sources" "security-groups")) (and (eq $name "type") (eq $text "internal")) (and (eq $name "internal") (has $text (list "true" "True" "TRUE" "t" "T" "1"))) -}}
{{- $names = append $names $name -}}
{{- end -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}

{{/* A condition for the admission policy: the class of a Service is one that the program serves. A configuration that the chart does not know may leave all other Services to another program. */}}
{{- define "thalassa-ccm.servedClass" -}}
{{- $balancers := .Values.cloudConfig.loadBalancer | default dict -}}
{{- $own := printf "has(object.spec.loadBalancerClass) && object.spec.loadBalancerClass == %s" ($balancers.class | default "" | quote) -}}
{{- if not (include "thalassa-ccm.work" . | fromJson).services -}}false
{{- else if include "thalassa-ccm.ironcore" . -}}!has(object.spec.loadBalancerClass)
{{- else if (include "thalassa-ccm.configExisting" . | fromJson).name -}}false
{{- else if $balancers.onlyClass -}}{{ $own }}
{{- else if $balancers.class -}}!has(object.spec.loadBalancerClass) || {{ $own }}
{{- else -}}!has(object.spec.loadBalancerClass)
{{- end -}}
{{- end -}}
