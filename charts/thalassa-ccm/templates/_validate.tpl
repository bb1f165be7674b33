{{/* Stops the installation with one sentence for each value that is missing or in the wrong place. */}}
{{- define "thalassa-ccm.validate" -}}
{{- include "thalassa-ccm.report" (dict "root" . "checks" (list "null")) -}}
{{- include "thalassa-ccm.report" (dict "root" . "checks" (list "reserved" "objects" "endpoint" "hosts" "image" "cidrs" "masks" "replicas" "pem")) -}}
{{- include "thalassa-ccm.report" (dict "root" . "checks" (list "removed" "names" "profile" "workload" "rollout" "network" "tenant" "cloud" "balancers" "routes" "credentials" "bundle" "account" "metrics" "readers" "labels" "policy" "extras" "flags")) -}}
{{- end -}}

{{/* Fails with what the checks print. */}}
{{- define "thalassa-ccm.report" -}}
{{- $problems := list -}}
{{- range .checks -}}
{{- range splitList "\n" (include (printf "thalassa-ccm.validate.%s" .) $.root) -}}
{{- with trim . -}}{{- $problems = append $problems . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (join "\n" $problems) -}}
{{- end -}}
{{- end -}}

{{/* Each of these prints one line for each problem. */}}

{{/* Values that other templates cannot do without: those with @notnull in values.yaml. */}}
{{- define "thalassa-ccm.validate.null" -}}
{{- $top := list
  "bindAddress" "cloudConfig" "credentials" "image" "logVerbosity" "profile" "rbac" "replicas" "securePort" "serviceAccount"
  "terminationGracePeriodSeconds"
-}}
{{- range $key := $top }}
{{- if kindIs "invalid" (index $.Values $key) }}
{{ $key }} is null: give it a value, or leave it out to have the default
{{- end }}
{{- end }}
{{- range $key := list "pullPolicy" "repository" }}
{{- if and $.Values.image (kindIs "invalid" (index $.Values.image $key)) }}
image.{{ $key }} is null: give it a value, or leave it out to have the default
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.removed" -}}
{{- range $path, $advice := .Files.Get "removed.yaml" | fromYaml }}
{{- $value := $.Values }}
{{- range $key := splitList "." $path }}
{{- $value = ternary (dict "found" $value) dict (kindIs "map" $value) }}
{{- $value = get ($value.found | default dict) $key }}
{{- end }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
{{ $path }} is no value of this chart: {{ $advice }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The rules for names of Services are the strictest; a name that is made from the release's is cut to 63 characters. */}}
{{- define "thalassa-ccm.validate.names" -}}
{{- $name := .Values.fullnameOverride | default (include "thalassa-ccm.fullname" .) -}}
{{- $label := "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" -}}
{{- if and .Values.namespaceOverride (or (gt (len .Values.namespaceOverride) 63) (not (regexMatch $label .Values.namespaceOverride))) }}
namespaceOverride is {{ .Values.namespaceOverride }}, which is no name of a namespace: use small letters, digits and dashes, and at most 63 characters, for example --set namespaceOverride=kube-system
{{- end }}
{{- if and .Values.nameOverride (or (gt (len .Values.nameOverride) 63) (not (regexMatch $label .Values.nameOverride))) }}
nameOverride is {{ .Values.nameOverride }}, which is part of names and labels of objects: use small letters, digits and dashes, and at most 63 characters, for example --set nameOverride=ccm
{{- else if or (gt (len $name) 63) (not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name)) }}
{{ ternary "fullnameOverride" "the name of the release" (not (empty .Values.fullnameOverride)) }} makes objects named {{ $name }}, which no Service can be: names begin with a letter, have small letters, digits and dashes, and at most 63 characters, for example --set fullnameOverride=thalassa-ccm
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.profile" -}}
{{- if and (eq .Values.profile "managed") (not .Values.part) }}
part is required with profile managed: hosting is the workload, in the provider's cluster, and tenant what the served cluster permits it, for example --set part=hosting
{{- end }}
{{- if and (ne .Values.profile "managed") .Values.part }}
part={{ .Values.part }} belongs to profile managed: a self-managed cluster has both sides, leave it out or set profile=managed
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.workload" -}}
{{- if and (eq .Values.profile "managed") (eq (.Values.kind | default "") "DaemonSet") }}
kind=DaemonSet belongs to profile self-managed: in a hosting cluster it would put a pod on every node, set kind=Deployment and replicas
{{- end }}
{{- if and (eq (.Values.dnsPolicy | default "") "None") (not (.Values.dnsConfig).nameservers) }}
dnsConfig.nameservers is required while dnsPolicy is None: the pods would have no resolver, for example --set dnsConfig.nameservers[0]=10.0.0.10
{{- end }}
{{- $budget := .Values.podDisruptionBudget | default dict -}}
{{- if not (or (kindIs "invalid" $budget.minAvailable) (kindIs "invalid" $budget.maxUnavailable)) }}
podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable exclude each other: a budget has one of them, leave one of them out
{{- end }}
{{- $least := $budget.minAvailable -}}
{{- if or (eq (toString $least) "100%") (and (gt (int $least) 0) (ge (int $least) (int .Values.replicas))) }}
podDisruptionBudget.minAvailable is {{ $budget.minAvailable }}, which is all pods: a drain of a node would wait for ever, make it less than replicas
{{- end }}
{{- if and (.Values.networkPolicy).enabled (eq (include "thalassa-ccm.hostNetwork" .) "true") }}
networkPolicy.enabled and hostNetwork exclude each other: no NetworkPolicy is applied on the host network, set one of them to false
{{- end }}
{{- end -}}

{{/* On the host network a new pod needs the port that the old one has. */}}
{{- define "thalassa-ccm.validate.rollout" -}}
{{- if and (include "thalassa-ccm.hosting" .) (eq (include "thalassa-ccm.hostNetwork" .) "true") -}}
{{- $strategy := .Values.updateStrategy | default dict -}}
{{- $surge := ($strategy.rollingUpdate | default dict).maxSurge | default 0 | toString -}}
{{- if and (eq (include "thalassa-ccm.kind" .) "Deployment") (eq ($strategy.type | default "Recreate") "RollingUpdate") }}
updateStrategy.type=RollingUpdate and hostNetwork exclude each other for a Deployment: a new pod would wait for the port of an old one for ever, leave updateStrategy out or set hostNetwork=false
{{- else if not (has $surge (list "0" "0%")) }}
updateStrategy.rollingUpdate.maxSurge={{ $surge }} and hostNetwork exclude each other: the new pod would wait for the port of the old one for ever, leave updateStrategy out or set hostNetwork=false
{{- end }}
{{- end }}
{{- end -}}

{{/* A policy that keeps the pods from what they are told to reach. */}}
{{- define "thalassa-ccm.validate.network" -}}
{{- $policy := .Values.networkPolicy | default dict -}}
{{- if and $policy.enabled (ne (include "thalassa-ccm.hostNetwork" .) "true") -}}
{{- $server := include "thalassa-ccm.scalar" (.Values.kubernetesServicePort | default "") -}}
{{- if and $server (not (has $server (include "thalassa-ccm.texts" ($policy.apiServer).ports | fromJsonArray))) }}
kubernetesServicePort is {{ $server }}, which is not among networkPolicy.apiServer.ports: the pods could not reach the API server, add it there
{{- end }}
{{- $cloud := regexFind ":[0-9]+$" (urlParse (.Values.cloudConfig.endpoint | default "")).host | trimPrefix ":" -}}
{{- if and $cloud (not (has $cloud (include "thalassa-ccm.texts" ($policy.cloudAPI).ports | fromJsonArray))) }}
cloudConfig.endpoint has the port {{ $cloud }}, which is not among networkPolicy.cloudAPI.ports: the pods could not reach the cloud, add it there
{{- end }}
{{- end }}
{{- end -}}

{{/* The items of a list as text, as JSON. */}}
{{- define "thalassa-ccm.texts" -}}
{{- $texts := list -}}
{{- range . -}}{{- $texts = append $texts (include "thalassa-ccm.scalar" .) -}}{{- end -}}
{{- $texts | toJson -}}
{{- end -}}

{{- define "thalassa-ccm.validate.tenant" -}}
{{- $kubeconfig := (.Values.tenant).kubeconfig | default dict -}}
{{- $subject := (.Values.tenant).subject | default dict -}}
{{- $part := ternary (.Values.part | default "") "" (eq .Values.profile "managed") -}}
{{- if and (eq $part "hosting") (not $kubeconfig.existingSecret) }}
tenant.kubeconfig.existingSecret is required with part hosting: it names a Secret in namespace {{ include "thalassa-ccm.namespace" . }} with a kubeconfig of the served cluster, for example --set tenant.kubeconfig.existingSecret=tenant-kubeconfig
{{- end }}
{{- if and (eq $part "tenant") (not $subject.name) }}
tenant.subject.name is required with part tenant: it is who the served cluster sees when the kubeconfig is used, for example --set tenant.subject.name=cloud-controller-manager
{{- end }}
{{- if and (eq $part "tenant") (eq ($subject.kind | default "") "ServiceAccount") (not $subject.namespace) }}
tenant.subject.namespace is required while tenant.subject.kind is ServiceAccount: it is the account's namespace in the served cluster, for example --set tenant.subject.namespace=kube-system
{{- end }}
{{- if and $subject.namespace (ne ($subject.kind | default "") "ServiceAccount") }}
tenant.subject.namespace belongs to tenant.subject.kind=ServiceAccount: a {{ $subject.kind }} has no namespace, leave it out
{{- end }}
{{- if ne .Values.profile "managed" }}
{{- if $kubeconfig.existingSecret }}
tenant.kubeconfig.existingSecret belongs to profile managed: in a self-managed cluster the pods use their own ServiceAccount, leave it out or set profile=managed
{{- end }}
{{- if $subject.name }}
tenant.subject.name belongs to profile managed: in a self-managed cluster the roles are for the pods' own ServiceAccount, leave it out or set profile=managed
{{- end }}
{{- else if or .Values.kubernetesServiceHost .Values.kubernetesServicePort }}
kubernetesServiceHost and kubernetesServicePort belong to profile self-managed: with profile managed the kubeconfig says where the API server is, leave them out
{{- end }}
{{- end -}}

{{/* Required keys, and the keys that are set although the whole file comes from elsewhere. */}}
{{- define "thalassa-ccm.validate.cloud" -}}
{{- if include "thalassa-ccm.hosting" . -}}
{{- $existing := (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- $config := .Values.cloudConfig -}}
{{- if $existing }}
{{- range $path := (include "thalassa-ccm.cloudConfigSet" $.Values | fromJson).items }}
{{ $path }} and cloudConfig.existing.name exclude each other: the whole file comes from {{ $existing }}, set it there or leave one of them out
{{- end }}
{{- else }}
{{- if not $config.organisation }}
cloudConfig.organisation is required: it names the Thalassa Cloud organisation that owns the cluster's machines, for example --set cloudConfig.organisation=my-organisation
{{- end }}
{{- if not $config.vpcIdentity }}
cloudConfig.vpcIdentity is required: it is the identity of the VPC that holds the cluster's machines, for example --set cloudConfig.vpcIdentity=vpc-0123456789
{{- end }}
{{- if not $config.cluster }}
cloudConfig.cluster is required: it is a name no other cluster of the organisation has, for example --set cloudConfig.cluster=production
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* There is no default of the pods' network: routes to a wrong one would lead nowhere, and take those of others. */}}
{{- define "thalassa-ccm.validate.routes" -}}
{{- if include "thalassa-ccm.hosting" . -}}
{{- $existing := (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- $routes := .Values.cloudConfig.routes | default dict -}}
{{- if and $routes.enabled (not $existing) (not .Values.cloudConfig.clusterCIDR) }}
cloudConfig.clusterCIDR is required with cloudConfig.routes.enabled: it is the network that pods have their addresses from, for example --set cloudConfig.clusterCIDR=10.244.0.0/16
{{- end }}
{{- if and (.Values.allocateNodeCIDRs).enabled (not $existing) (not .Values.cloudConfig.clusterCIDR) }}
cloudConfig.clusterCIDR is required with allocateNodeCIDRs.enabled: nodes are given their networks from it, for example --set cloudConfig.clusterCIDR=10.244.0.0/16
{{- end }}
{{- if and $routes.exclusive (not $existing) (not $routes.table) }}
cloudConfig.routes.exclusive needs cloudConfig.routes.table: name the route table that is only this cluster's
{{- end }}
{{- end }}
{{- end -}}

{{/* Values of the configuration file that are not as in values.yaml, as {"items": [...]}. A test compares these defaults with it. */}}
{{- define "thalassa-ccm.cloudConfigSet" -}}
{{- $defaults := dict
  "cloudConfig.endpoint" "https://api.thalassa.cloud"
  "cloudConfig.loadBalancer.enabled" true "cloudConfig.loadBalancer.creationPollInterval" 5 "cloudConfig.loadBalancer.creationPollTimeout" 300 "cloudConfig.loadBalancer.driftPeriod" 300
  "cloudConfig.loadBalancer.drift" "repair" "cloudConfig.loadBalancer.removeOrphans" false "cloudConfig.loadBalancer.class" "" "cloudConfig.loadBalancer.onlyClass" false
  "cloudConfig.loadBalancer.defaults" dict "cloudConfig.loadBalancer.nodeSecurityGroup" ""
  "cloudConfig.instancesV2.enabled" true "cloudConfig.instancesV2.zoneAndRegionEnabled" true "cloudConfig.instancesV2.typeLabels" false
  "cloudConfig.instancesV2.labelPrefix" "" "cloudConfig.instancesV2.taintPrefix" "" "cloudConfig.instancesV2.machineAnnotation" ""
  "cloudConfig.instancesV2.removalGracePeriod" 60 "cloudConfig.instancesV2.maxRemovals" 20 "cloudConfig.instancesV2.removalWindow" 600 "cloudConfig.instancesV2.dryRun" false
  "cloudConfig.clusterCIDR" "" "cloudConfig.routes.enabled" false "cloudConfig.routes.table" "" "cloudConfig.routes.exclusive" false "cloudConfig.routes.driftPeriod" 300
  "advanced.inventory.machineAge" 60 "advanced.inventory.balancerAge" 300
  "cloudConfig.api.callTimeout" 30 "cloudConfig.api.requestsPerSecond" 50 "advanced.api.burst" 100
-}}
{{- $set := list -}}
{{- range $top, $keys := dict "cloudConfig" (omit .cloudConfig "existing") "advanced" (.advanced | default dict) -}}
{{- range $key, $value := $keys -}}
{{- $path := printf "%s.%s" $top $key -}}
{{- if and (kindIs "map" $value) (ne $key "additionalLabels") -}}
{{- range $inner, $nested := $value -}}
{{- $path := printf "%s.%s" $path $inner -}}
{{- if ne (toString $nested) (toString (get $defaults $path)) -}}{{- $set = append $set $path -}}{{- end -}}
{{- end -}}
{{- else if and $value (ne (toString $value) (toString (get $defaults $path))) -}}
{{- $set = append $set $path -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "items" $set | toJson -}}
{{- end -}}

{{/* Keys under cloudConfig.loadBalancer that leave nothing to do for one of them. */}}
{{- define "thalassa-ccm.validate.balancers" -}}
{{- $balancers := .Values.cloudConfig.loadBalancer | default dict -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if kindIs "bool" $balancers.drift }}
cloudConfig.loadBalancer.drift is {{ $balancers.drift }}: without quotes YAML takes off for false, write "off" or leave it out
{{- else if and (include "thalassa-ccm.hosting" .) $work.services (not (include "thalassa-ccm.configExisting" . | fromJson).name) }}
{{- if and $balancers.onlyClass (not $balancers.class) }}
cloudConfig.loadBalancer.onlyClass without cloudConfig.loadBalancer.class serves nobody: name the class there, or set cloudConfig.loadBalancer.enabled=false
{{- end }}
{{- if include "thalassa-ccm.neverLooks" . }}
{{- if $balancers.removeOrphans }}
cloudConfig.loadBalancer.removeOrphans and cloudConfig.loadBalancer.driftPeriod=0 exclude each other: nobody would look for orphans, leave one of them out
{{- end }}
{{- if eq (toString $balancers.drift) "report" }}
cloudConfig.loadBalancer.drift=report and cloudConfig.loadBalancer.driftPeriod=0 exclude each other: nobody would look for what to report, leave one of them out
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.credentials" -}}
{{- if include "thalassa-ccm.hosting" . -}}
{{- $identity := include "thalassa-ccm.workloadIdentity" . | fromJson -}}
{{- $create := .Values.credentials.create | default dict -}}
{{- $whole := (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- if not (or .Values.credentials.existingSecret $identity.enabled $create.enabled $whole) }}
credentials.existingSecret is required: it names a Secret in namespace {{ include "thalassa-ccm.namespace" . }} with the key personalAccessToken, or with the keys clientID and clientSecret, for example --set credentials.existingSecret=thalassa-credentials; without a Secret set credentials.workloadIdentity
{{- end }}
{{- if and .Values.credentials.existingSecret $identity.enabled }}
credentials.existingSecret and credentials.workloadIdentity.enabled exclude each other: with a workload identity there is no Secret, leave one of them out
{{- end }}
{{- if and .Values.credentials.existingSecret $create.enabled }}
credentials.existingSecret and credentials.create.enabled exclude each other: name a Secret that is there, or have one made
{{- end }}
{{- if and $identity.enabled $create.enabled }}
credentials.create.enabled and credentials.workloadIdentity.enabled exclude each other: with a workload identity there is no Secret, leave one of them out
{{- end }}
{{- if and $identity.enabled (not $identity.serviceAccountID) (not $whole) }}
credentials.workloadIdentity.serviceAccountID is required while credentials.workloadIdentity.enabled is true: it is the identity of the cloud's service account, for example --set credentials.workloadIdentity.serviceAccountID=sa-0123456789
{{- end }}
{{- include "thalassa-ccm.validate.created" $create }}
{{- end -}}
{{- end -}}

{{/* Credentials in the values are complete, and there only if they are used. */}}
{{- define "thalassa-ccm.validate.created" -}}
{{- $client := or .clientID .clientSecret -}}
{{- if and .enabled (not (or .personalAccessToken $client)) }}
credentials.create.personalAccessToken is required while credentials.create.enabled is true: give it, or credentials.create.clientID and credentials.create.clientSecret, for example --set-file credentials.create.personalAccessToken=./token
{{- end }}
{{- if and .personalAccessToken $client }}
credentials.create.personalAccessToken and credentials.create.clientID exclude each other: the program authenticates in one way, leave one of them out
{{- end }}
{{- if and $client (not (and .clientID .clientSecret)) }}
credentials.create.clientID and credentials.create.clientSecret belong together: {{ ternary "clientSecret" "clientID" (not (empty .clientID)) }} is missing, for example --set-file credentials.create.{{ ternary "clientSecret=./client-secret" "clientID=./client-id" (not (empty .clientID)) }}
{{- end }}
{{- if and (not .enabled) (or .personalAccessToken $client) }}
credentials.create.enabled is false, but credentials are given beside it: set it to true to make a Secret of them, or better make one yourself and name it in credentials.existingSecret
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.bundle" -}}
{{- $existing := include "thalassa-ccm.caExisting" . | fromJson -}}
{{- if and $existing.name (include "thalassa-ccm.caText" .) }}
caBundle.pem and caBundle.existing.name exclude each other: give the certificates as text, or name the object that holds them
{{- end }}
{{- if and (include "thalassa-ccm.caText" .) (include "thalassa-ccm.configExisting" . | fromJson).name }}
caBundle.pem and cloudConfig.existing.name exclude each other: with the whole file from elsewhere, name the object with the certificates in caBundle.existing
{{- end }}
{{- if and .Values.cloudConfig.insecure (include "thalassa-ccm.caFile" .) }}
cloudConfig.insecure and caBundle exclude each other: a certificate that is not verified needs no certificates to verify it with
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.account" -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
serviceAccount.name is required while serviceAccount.create is false: it names the ServiceAccount in namespace {{ include "thalassa-ccm.namespace" . }} that the pods run as, for example --set serviceAccount.name=cloud-controller-manager
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.metrics" -}}
{{- $scrape := .Values.scrape | default dict -}}
{{- $certified := ($scrape.clientCertificate).existingSecret -}}
{{- $identified := or ($scrape.token).existingSecret $certified -}}
{{- $monitored := and (include "thalassa-ccm.hosting" .) (or (.Values.podMonitor).enabled (.Values.serviceMonitor).enabled) -}}
{{- $monitor := ternary "serviceMonitor.enabled" "podMonitor.enabled" (not (not (.Values.serviceMonitor).enabled)) -}}
{{- if and (.Values.serviceMonitor).enabled (.Values.podMonitor).enabled }}
serviceMonitor.enabled and podMonitor.enabled exclude each other: with both, everything would be read twice
{{- end }}
{{- if and ($scrape.token).existingSecret ($scrape.clientCertificate).existingSecret }}
scrape.token.existingSecret and scrape.clientCertificate.existingSecret exclude each other: Prometheus identifies itself in one way, leave one of them out
{{- end }}
{{- if eq .Values.profile "managed" }}
{{- if ($scrape.token).existingSecret }}
scrape.token.existingSecret belongs to profile self-managed: with profile managed the served cluster would get to see the token, set scrape.clientCertificate.existingSecret instead
{{- else if and $monitored (not $certified) }}
scrape.clientCertificate.existingSecret is required with profile managed while {{ $monitor }} is true: the served cluster does not know Prometheus, and must not see its token, for example --set scrape.clientCertificate.existingSecret=prometheus-client
{{- else if and $monitored (not ((.Values.metrics).clientCA).existingSecret) }}
metrics.clientCA.existingSecret is required with profile managed while {{ $monitor }} is true: it holds the authority whose certificates the port believes, for example --set metrics.clientCA.existingSecret=prometheus-ca
{{- end }}
{{- else if and $monitored (.Values.podMonitor).enabled (not $identified) }}
scrape.token.existingSecret is required while podMonitor.enabled is true: only a ServiceMonitor may show Prometheus' own token, for example --set scrape.token.existingSecret=prometheus-token; or set scrape.clientCertificate.existingSecret
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.readers" -}}
{{- range $index, $reader := (.Values.metrics).readers | default list }}
{{- if and (eq $reader.kind "ServiceAccount") (not $reader.namespace) }}
metrics.readers[{{ $index }}].namespace is required for a ServiceAccount: it is the namespace that {{ $reader.name }} is in, for example --set metrics.readers[{{ $index }}].namespace=monitoring
{{- else if and (ne $reader.kind "ServiceAccount") $reader.namespace }}
metrics.readers[{{ $index }}].namespace belongs to a ServiceAccount: a {{ $reader.kind }} has none, leave it out
{{- end }}
{{- end }}
{{- end -}}

{{/* Labels the chart sets itself. Two values for one key would be no YAML. */}}
{{- define "thalassa-ccm.validate.labels" -}}
{{- $own := include "thalassa-ccm.ownLabels" . | fromYaml -}}
{{- $scrapes := (.Values.scrape).labels | default dict -}}
{{- $owners := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels "scrape.labels" $scrapes "rules.labels" (.Values.rules).labels "serviceAccount.labels" .Values.serviceAccount.labels -}}
{{- range $value, $labels := $owners }}
{{- range $key, $_ := $labels }}
{{- if hasKey $own $key }}
{{ $value }} has {{ $key }}, a label the chart sets itself: leave it out
{{- end }}
{{- end }}
{{- end }}
{{- if hasKey ((.Values.rules).alertLabels | default dict) "severity" }}
rules.alertLabels has severity, a label the chart sets itself: leave it out
{{- end }}
{{- $annotations := dict "commonAnnotations" .Values.commonAnnotations "podAnnotations" .Values.podAnnotations -}}
{{- range $value, $given := $annotations }}
{{- range $key := list "checksum/config" "kubectl.kubernetes.io/default-container" }}
{{- if hasKey ($given | default dict) $key }}
{{ $value }} has {{ $key }}, an annotation the chart sets itself: leave it out
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.policy" -}}
{{- $actions := (.Values.admissionPolicy).validationActions | default list -}}
{{- if and (has "Deny" $actions) (has "Warn" $actions) }}
admissionPolicy.validationActions: Deny and Warn exclude each other, for a refusal says what a warning would, leave one of them out
{{- end }}
{{- end -}}

{{/* Names and paths that a pod may have once. */}}
{{- define "thalassa-ccm.validate.extras" -}}
{{- if include "thalassa-ccm.hosting" . -}}
{{- $container := list (dict "name" "cloud-controller-manager") -}}
{{- $lists := dict
  "extraContainers" (dict "own" (concat $container (.Values.initContainers | default list)) "by" "name")
  "initContainers" (dict "own" $container "by" "name")
  "extraEnv" (dict "own" (include "thalassa-ccm.ownEnv" . | fromYamlArray) "by" "name")
  "extraVolumes" (dict "own" (include "thalassa-ccm.ownVolumes" . | fromYamlArray) "by" "name")
  "extraVolumeMounts" (dict "own" (include "thalassa-ccm.ownMounts" . | fromYamlArray) "by" "mountPath")
-}}
{{- range $value, $list := $lists }}
{{- $taken := list -}}
{{- range $list.own -}}{{- $taken = append $taken (get . $list.by | trimSuffix "/") -}}{{- end -}}
{{- range get $.Values $value | default list }}
{{- $name := get . $list.by | toString | trimSuffix "/" -}}
{{- if has $name $taken }}
{{ $value }} has {{ $list.by }} {{ $name }}, which the pod has already: leave it out
{{- end }}
{{- $taken = append $taken $name -}}
{{- end }}
{{- end }}
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
  "cloud-provider" "leave it out, the chart is for one cloud"
  "cluster-name" "set cloudConfig.cluster instead"
  "cluster-cidr" "set cloudConfig.clusterCIDR instead"
  "configure-cloud-routes" "set cloudConfig.routes.enabled instead"
  "controllers" "set the values under controllers instead"
  "kubeconfig" $kubeconfig
  "leader-elect" "leave it out, two active managers would undo each other's work"
  "leader-elect-resource-name" "leave it out, the Role grants the Lease cloud-controller-manager only"
  "leader-elect-resource-namespace" "leave it out, the Role grants the Lease in kube-system only"
  "node-cidr-mask-size-ipv4" "set allocateNodeCIDRs.maskSizeIPv4 instead"
  "node-cidr-mask-size-ipv6" "set allocateNodeCIDRs.maskSizeIPv6 instead"
  "secure-port" "set securePort instead"
  "service-cluster-ip-range" "set allocateNodeCIDRs.serviceClusterIPRange instead"
  "tls-cert-file" "set metrics.tlsSecret instead"
  "tls-private-key-file" "set metrics.tlsSecret instead"
  "use-service-account-credentials" "set useServiceAccountCredentials.enabled instead"
  "v" "set logVerbosity instead"
-}}
{{- if eq .Values.profile "managed" -}}
{{- $_ := set $owned "authentication-skip-lookup" "leave it out, the port must not believe clients of the served cluster" -}}
{{- end -}}
{{- range $name, $advice := $owned }}
{{- if hasKey (default dict $.Values.extraArgs) $name }}
extraArgs.{{ $name }} is a flag the chart sets itself: {{ $advice }}
{{- end }}
{{- end }}
{{- end -}}
