{{/* "true" if this release is the workload's side: all of self-managed, or part hosting. */}}
{{- define "thalassa-ccm.hosting" -}}
{{- if or (ne .Values.profile "managed") (eq (.Values.part | default "") "hosting") -}}true{{- end -}}
{{- end -}}

{{/* "true" if this release is in the cluster that is served: all of self-managed, or part tenant. */}}
{{- define "thalassa-ccm.served" -}}
{{- if or (ne .Values.profile "managed") (eq (.Values.part | default "") "tenant") -}}true{{- end -}}
{{- end -}}

{{/* What a value that is null means; it depends on the profile. */}}
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

{{/* Every taint: new nodes carry several, and the pod is what removes the first of them. */}}
{{- define "thalassa-ccm.tolerations" -}}
{{- if not (kindIs "invalid" .Values.tolerations) -}}
{{- .Values.tolerations | toJson -}}
{{- else if ne .Values.profile "managed" -}}
[{"operator": "Exists"}]
{{- else -}}
[]
{{- end -}}
{{- end -}}

{{/* The label of control-plane nodes has a value in some distributions and none in others. */}}
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

{{/* Constraints as {"items": [...]}; those without a selector are about the chart's own pods. */}}
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

{{/* Two pods on one host would fight for the port: there the old one goes first. */}}
{{- define "thalassa-ccm.strategy" -}}
{{- if .Values.updateStrategy -}}
{{- .Values.updateStrategy | toYaml -}}
{{- else if eq (include "thalassa-ccm.kind" .) "DaemonSet" -}}
type: RollingUpdate
rollingUpdate:
  # The old pod goes first: on one host both would need the same port.
  maxSurge: 0
  maxUnavailable: 1
{{- else if eq (include "thalassa-ccm.hostNetwork" .) "true" -}}
# All old pods go first. With fewer nodes than pods, one that waits for the port would otherwise be all that may be
# unavailable, and no old one would ever go. Work rests for as long as the new ones need to start.
type: Recreate
{{- else -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: 1
  maxUnavailable: 0
{{- end -}}
{{- end -}}

{{/*
Which work is done in the cluster that is served, as {"nodes", "lifecycle", "services"}: a
controller that is off, or that the configuration leaves nothing to do, needs no permissions.
*/}}
{{- define "thalassa-ccm.work" -}}
{{- $on := .Values.controllers | default dict -}}
{{- $config := .Values.cloudConfig | default dict -}}
{{- $instances := true -}}
{{- $balancers := true -}}
{{- if not (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- $instances = dig "instancesV2" "enabled" true $config -}}
{{- $balancers = dig "loadBalancer" "enabled" true $config -}}
{{- end -}}
{{- dict
  "nodes" (and $instances (dig "cloud-node-controller" true $on))
  "lifecycle" (and $instances (dig "cloud-node-lifecycle-controller" true $on))
  "services" (and $balancers (dig "service-lb-controller" true $on)) | toJson -}}
{{- end -}}
