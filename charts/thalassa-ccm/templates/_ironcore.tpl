{{/* What is different with cloud ironcore. */}}

{{/* Labels of the workload, by which Kustomize components recognise the cloud. */}}
{{- define "thalassa-ccm.workloadLabels" -}}
{{- if include "thalassa-ccm.ironcore" . -}}
k8s.thalassa.cloud/cloud-provider: ironcore
{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.ironcoreDirectory" -}}/etc/thalassa-ccm/ironcore{{- end -}}

{{/* Key of the Secret with the kubeconfig, which is also the name of the file. */}}
{{- define "thalassa-ccm.ironcoreKey" -}}
{{- ((.Values.ironcore).kubeconfig).key | default "kubeconfig" -}}
{{- end -}}

{{/* Name of the Secret with the kubeconfig: an existing one, or the one created from values. */}}
{{- define "thalassa-ccm.ironcoreSecret" -}}
{{- if ((.Values.ironcore).kubeconfig).content -}}
{{- include "thalassa-ccm.nameWith" (dict "root" . "suffix" "ironcore") -}}
{{- else -}}
{{- ((.Values.ironcore).kubeconfig).existingSecret | default "" -}}
{{- end -}}
{{- end -}}

{{/* Namespace in IronCore of the permissions. */}}
{{- define "thalassa-ccm.ironcoreNamespace" -}}
{{- (.Values.ironcore).namespace | default (include "thalassa-ccm.namespace" .) -}}
{{- end -}}

{{/* Values under cloudConfig and advanced that are also keys of IronCore's configuration file, as {"items": [...]}. A test compares them with the program. */}}
{{- define "thalassa-ccm.sharedKeys" -}}
{{- dict "items" (list
  "cloudConfig.loadBalancer.creationPollTimeout" "cloudConfig.loadBalancer.drift" "cloudConfig.loadBalancer.removeOrphans"
  "cloudConfig.instancesV2.removalGracePeriod" "cloudConfig.instancesV2.maxRemovals" "cloudConfig.instancesV2.removalWindow" "cloudConfig.instancesV2.dryRun"
  "cloudConfig.api.callTimeout" "cloudConfig.api.requestsPerSecond" "advanced.api.burst"
) | toJson -}}
{{- end -}}

{{/* The configuration file, which does not contain credentials. */}}
{{- define "thalassa-ccm.ironcoreConfig" -}}
{{- $config := pick (.Values.ironcore | default dict) "networkName" "prefixName" "prefixNameIPv6" "clusterName" "formerClusterUIDs" "namespace" -}}
{{- range $path := (include "thalassa-ccm.sharedKeys" . | fromJson).items -}}
{{- $parts := splitList "." $path -}}
{{- $value := get (get (get $.Values (index $parts 0) | default dict) (index $parts 1) | default dict) (index $parts 2) -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $config (index $parts 1) (merge (dict (index $parts 2) $value) (get $config (index $parts 1) | default dict)) -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := $config -}}
{{- if or (kindIs "invalid" $value) (eq (toJson $value) `""`) -}}
{{- $config = omit $config $key -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Flags, as JSON. Routes are not in the configuration file. */}}
{{- define "thalassa-ccm.ironcoreArgs" -}}
{{- $routes := .Values.cloudConfig.routes | default dict -}}
{{- $selector := (.Values.ironcore).useNICSelector -}}
{{- $args := dict
  "cloud-provider" "ironcore"
  "configure-cloud-routes" (not (not $routes.enabled))
  "ironcore-kubeconfig" (printf "%s/%s" (include "thalassa-ccm.ironcoreDirectory" .) (include "thalassa-ccm.ironcoreKey" .))
  "use-nic-selector" (or (kindIs "invalid" $selector) $selector)
-}}
{{- with .Values.cloudConfig.clusterCIDR -}}
{{- $_ := set $args "cluster-cidr" . -}}
{{- end -}}
{{- with (.Values.ironcore).clusterName -}}
{{- $_ := set $args "cluster-name" . -}}
{{- end -}}
{{- toJson $args -}}
{{- end -}}
