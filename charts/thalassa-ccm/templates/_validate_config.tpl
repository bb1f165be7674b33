{{/* Checks of the configuration file, the credentials and the certificates. Each prints one line for each problem. */}}

{{- define "thalassa-ccm.validate.cloud" -}}
{{- if and (include "thalassa-ccm.hosting" .) (not (include "thalassa-ccm.ironcore" .)) -}}
{{- include "thalassa-ccm.validate.keys" . -}}
{{- end }}
{{- end -}}

{{/* The network of pods has no default: with a wrong one, routes do not work, and routes of others are deleted. */}}
{{- define "thalassa-ccm.validate.routes" -}}
{{- if include "thalassa-ccm.hosting" . -}}
{{- $existing := and (not (include "thalassa-ccm.ironcore" .)) (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- $routes := .Values.cloudConfig.routes | default dict -}}
{{- if and $routes.enabled (not $existing) (not .Values.cloudConfig.clusterCIDR) }}
cloudConfig.clusterCIDR is required with cloudConfig.routes.enabled: it is the network that contains the addresses of pods, for example --set cloudConfig.clusterCIDR=10.244.0.0/16
{{- end }}
{{- if and (.Values.allocateNodeCIDRs).enabled (not $existing) (not .Values.cloudConfig.clusterCIDR) }}
cloudConfig.clusterCIDR is required with allocateNodeCIDRs.enabled: it is the network that contains the networks of nodes, for example --set cloudConfig.clusterCIDR=10.244.0.0/16
{{- end }}
{{- if and $routes.exclusive (not $existing) (not $routes.table) }}
cloudConfig.routes.exclusive needs cloudConfig.routes.table: set it to the route table that only this cluster uses
{{- end }}
{{- end }}
{{- end -}}

{{/* Defaults of values.yaml by their paths, as JSON. A test compares them. */}}
{{- define "thalassa-ccm.defaults" -}}
{{- dict
  "cloudConfig.endpoint" "https://api.thalassa.cloud" "cloudConfig.insecure" false
  "cloudConfig.loadBalancer.enabled" true "cloudConfig.loadBalancer.creationPollInterval" nil "cloudConfig.loadBalancer.creationPollTimeout" 300 "cloudConfig.loadBalancer.driftPeriod" 300
  "cloudConfig.loadBalancer.drift" "repair" "cloudConfig.loadBalancer.removeOrphans" false "cloudConfig.loadBalancer.class" "" "cloudConfig.loadBalancer.onlyClass" false
  "cloudConfig.loadBalancer.defaults" dict "cloudConfig.loadBalancer.maxTargets" 0
  "cloudConfig.instancesV2.enabled" true "cloudConfig.instancesV2.zoneAndRegionEnabled" true "cloudConfig.instancesV2.typeLabels" false
  "cloudConfig.instancesV2.labelPrefix" "" "cloudConfig.instancesV2.taintPrefix" "" "cloudConfig.instancesV2.machineAnnotation" ""
  "cloudConfig.instancesV2.removalGracePeriod" 60 "cloudConfig.instancesV2.maxRemovals" 20 "cloudConfig.instancesV2.removalWindow" 600 "cloudConfig.instancesV2.dryRun" false
  "cloudConfig.clusterCIDR" "" "cloudConfig.routes.enabled" false "cloudConfig.routes.table" "" "cloudConfig.routes.exclusive" false "cloudConfig.routes.driftPeriod" 300
  "advanced.inventory.machineAge" 60 "advanced.inventory.balancerAge" 600
  "cloudConfig.api.callTimeout" 30 "cloudConfig.api.requestsPerSecond" 50 "advanced.api.burst" 100
  "caBundle.existing.kind" "ConfigMap" "caBundle.existing.key" "ca.crt"
  "credentials.create.enabled" false "credentials.workloadIdentity.enabled" false
  "credentials.workloadIdentity.audience" "https://api.thalassa.cloud" "credentials.workloadIdentity.lifetime" 3600
  "ironcore.useNICSelector" true "ironcore.kubeconfig.key" "kubeconfig" "ironcore.subject.kind" "User" | toJson
-}}
{{- end -}}

{{/* Keys under cloudConfig.loadBalancer of which one has no effect because of another. */}}
{{- define "thalassa-ccm.validate.balancers" -}}
{{- $balancers := .Values.cloudConfig.loadBalancer | default dict -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if kindIs "bool" $balancers.drift }}
cloudConfig.loadBalancer.drift is {{ $balancers.drift }}: YAML reads off without quotes as false, write "off" or leave it out
{{- else if and (include "thalassa-ccm.hosting" .) $work.services (not (include "thalassa-ccm.configExisting" . | fromJson).name) }}
{{- if and $balancers.onlyClass (not $balancers.class) }}
cloudConfig.loadBalancer.onlyClass needs cloudConfig.loadBalancer.class: without a class no Service gets a load balancer, set the class, or set cloudConfig.loadBalancer.enabled=false
{{- end }}
{{- if and (include "thalassa-ccm.resyncDisabled" .) (not (include "thalassa-ccm.ironcore" .)) }}
{{- if $balancers.removeOrphans }}
cloudConfig.loadBalancer.removeOrphans and cloudConfig.loadBalancer.driftPeriod=0 exclude each other: without periodic checks no orphan is found, leave one of them out
{{- end }}
{{- if eq (toString $balancers.drift) "report" }}
cloudConfig.loadBalancer.drift=report and cloudConfig.loadBalancer.driftPeriod=0 exclude each other: without periodic checks there is nothing to report, leave one of them out
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.credentials" -}}
{{- if and (include "thalassa-ccm.hosting" .) (not (include "thalassa-ccm.ironcore" .)) -}}
{{- include "thalassa-ccm.validate.secrets" . -}}
{{- end -}}
{{- end -}}
