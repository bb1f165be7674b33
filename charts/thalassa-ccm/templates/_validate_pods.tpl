{{/* Checks of the pods, their account, their network policy and their flags. Each prints one line for each problem. */}}

{{- define "thalassa-ccm.validate.workload" -}}
{{- if and (eq .Values.profile "managed") (eq (.Values.kind | default "") "DaemonSet") }}
kind=DaemonSet is only for profile self-managed: in a hosting cluster it would run a pod on every node, set kind=Deployment and replicas
{{- end }}
{{- if and (eq (.Values.dnsPolicy | default "") "None") (not (.Values.dnsConfig).nameservers) }}
dnsConfig.nameservers is required while dnsPolicy is None: without it the pods have no DNS server, for example --set dnsConfig.nameservers[0]=10.0.0.10
{{- end }}
{{- $budget := .Values.podDisruptionBudget | default dict -}}
{{- if not (or (kindIs "invalid" $budget.minAvailable) (kindIs "invalid" $budget.maxUnavailable)) }}
podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable exclude each other: a PodDisruptionBudget has only one of them, leave the other out
{{- end }}
{{- $least := $budget.minAvailable -}}
{{- if or (eq (toString $least) "100%") (and (gt (int $least) 0) (ge (int $least) (int .Values.replicas))) }}
podDisruptionBudget.minAvailable is {{ $budget.minAvailable }}, which is all pods: no node with a pod could be drained, set less than replicas
{{- end }}
{{- if and (.Values.networkPolicy).enabled (eq (include "thalassa-ccm.hostNetwork" .) "true") }}
networkPolicy.enabled and hostNetwork exclude each other: a NetworkPolicy has no effect on the host network, set one of them to false
{{- end }}
{{- end -}}

{{/* On the host network, a new pod needs the port that the old one uses. */}}
{{- define "thalassa-ccm.validate.rollout" -}}
{{- if and (include "thalassa-ccm.hosting" .) (eq (include "thalassa-ccm.hostNetwork" .) "true") -}}
{{- $strategy := .Values.updateStrategy | default dict -}}
{{- $surge := ($strategy.rollingUpdate | default dict).maxSurge | default 0 | toString -}}
{{- if and (eq (include "thalassa-ccm.kind" .) "Deployment") (eq ($strategy.type | default "Recreate") "RollingUpdate") }}
updateStrategy.type=RollingUpdate and hostNetwork exclude each other for a Deployment: a new pod cannot start while an old one uses the port, leave updateStrategy out or set hostNetwork=false
{{- else if not (has $surge (list "0" "0%")) }}
updateStrategy.rollingUpdate.maxSurge={{ $surge }} and hostNetwork exclude each other: the new pod cannot start while the old one uses the port, leave updateStrategy out or set hostNetwork=false
{{- end }}
{{- end }}
{{- end -}}

{{/* A policy that does not permit connections to the addresses in other values. */}}
{{- define "thalassa-ccm.validate.network" -}}
{{- $policy := .Values.networkPolicy | default dict -}}
{{- if and $policy.enabled (ne (include "thalassa-ccm.hostNetwork" .) "true") -}}
{{- include "thalassa-ccm.blockedPorts" . -}}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.account" -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
serviceAccount.name is required while serviceAccount.create is false: it names the ServiceAccount in namespace {{ include "thalassa-ccm.namespace" . }} that the pods run as, for example --set serviceAccount.name=cloud-controller-manager
{{- end }}
{{- end -}}

{{/* Names and paths that must be unique in a pod. */}}
{{- define "thalassa-ccm.validate.extras" -}}
{{- if include "thalassa-ccm.hosting" . -}}
{{- $container := list (dict "name" "cloud-controller-manager") -}}
{{- $lists := dict
  "extraContainers" (dict "own" (concat $container (.Values.initContainers | default list)) "more" .Values.extraContainers "by" "name")
  "initContainers" (dict "own" $container "more" .Values.initContainers "by" "name")
  "extraEnv" (dict "own" (include "thalassa-ccm.ownEnv" . | fromYamlArray) "more" .Values.extraEnv "by" "name")
  "extraVolumes" (dict "own" (include "thalassa-ccm.ownVolumes" . | fromYamlArray) "more" .Values.extraVolumes "by" "name")
  "extraVolumeMounts" (dict "own" (include "thalassa-ccm.ownMounts" . | fromYamlArray) "more" .Values.extraVolumeMounts "by" "mountPath")
-}}
{{- include "thalassa-ccm.duplicates" $lists -}}
{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.validate.flags" -}}
{{- $kubeconfig := ternary "set tenant.kubeconfig instead" "leave it out, in a self-managed cluster the pods use their own ServiceAccount" (eq .Values.profile "managed") -}}
{{- $owned := dict
  "allocate-node-cidrs" "set allocateNodeCIDRs.enabled instead"
  "authentication-kubeconfig" $kubeconfig
  "authorization-kubeconfig" $kubeconfig
  "bind-address" "set bindAddress instead"
  "client-ca-file" "set metrics.clientCA instead"
  "cloud-config" "set the values under cloudConfig instead"
  "cloud-provider" "set cloud instead"
  "cluster-name" (ternary "set ironcore.clusterName instead" "set cloudConfig.cluster instead" (eq .Values.cloud "ironcore"))
  "cluster-cidr" "set cloudConfig.clusterCIDR instead"
  "configure-cloud-routes" "set cloudConfig.routes.enabled instead"
  "controllers" "set the values under controllers instead"
  "ironcore-kubeconfig" "set cloud=ironcore and ironcore.kubeconfig instead"
  "kubeconfig" $kubeconfig
  "leader-elect" "leave it out, two active managers would change the same objects"
  "leader-elect-resource-name" "leave it out, the Role permits only the Lease cloud-controller-manager"
  "leader-elect-resource-namespace" "leave it out, the Role permits only a Lease in kube-system"
  "node-cidr-mask-size-ipv4" "set allocateNodeCIDRs.maskSizeIPv4 instead"
  "node-cidr-mask-size-ipv6" "set allocateNodeCIDRs.maskSizeIPv6 instead"
  "secure-port" "set securePort instead"
  "service-cluster-ip-range" "set allocateNodeCIDRs.serviceClusterIPRange instead"
  "tls-cert-file" "set metrics.tlsSecret instead"
  "tls-private-key-file" "set metrics.tlsSecret instead"
  "tracing-endpoint" "set tracing.endpoint instead"
  "tracing-sampling-rate-per-million" "set tracing.samplingRatePerMillion instead"
  "use-nic-selector" "set cloud=ironcore and ironcore.useNICSelector instead"
  "use-service-account-credentials" "set useServiceAccountCredentials.enabled instead"
  "v" "set logVerbosity instead"
-}}
{{- if eq .Values.profile "managed" -}}
{{- $_ := set $owned "authentication-skip-lookup" "leave it out, the port must not trust clients of the served cluster" -}}
{{- end -}}
{{- range $name, $advice := $owned }}
{{- if hasKey (default dict $.Values.extraArgs) $name }}
extraArgs.{{ $name }} is a flag that the chart sets itself: {{ $advice }}
{{- end }}
{{- end }}
{{- end -}}
