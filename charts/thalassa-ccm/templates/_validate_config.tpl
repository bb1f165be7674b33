{{/* Checks of the configuration file, the credentials and the certificates. Each prints one line for each problem. */}}

{{/* Required keys, and the keys that are set although the whole file comes from elsewhere. */}}
{{- define "thalassa-ccm.validate.cloud" -}}
{{- if and (include "thalassa-ccm.hosting" .) (not (include "thalassa-ccm.ironcore" .)) -}}
{{- $existing := (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- $config := .Values.cloudConfig -}}
{{- if $existing }}
{{- range $path := (include "thalassa-ccm.changed" (dict "values" $.Values "tops" (list "cloudConfig" "advanced")) | fromJson).items }}
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

{{/* Values under .tops that differ from values.yaml, as {"items": [...]}, without cloudConfig.existing. A test compares these defaults with values.yaml. */}}
{{- define "thalassa-ccm.changed" -}}
{{- $defaults := dict
  "cloudConfig.endpoint" "https://api.thalassa.cloud" "cloudConfig.insecure" false
  "cloudConfig.loadBalancer.enabled" true "cloudConfig.loadBalancer.creationPollInterval" 5 "cloudConfig.loadBalancer.creationPollTimeout" 300 "cloudConfig.loadBalancer.driftPeriod" 300
  "cloudConfig.loadBalancer.drift" "repair" "cloudConfig.loadBalancer.removeOrphans" false "cloudConfig.loadBalancer.class" "" "cloudConfig.loadBalancer.onlyClass" false
  "cloudConfig.loadBalancer.defaults" dict "cloudConfig.loadBalancer.nodeSecurityGroup" ""
  "cloudConfig.instancesV2.enabled" true "cloudConfig.instancesV2.zoneAndRegionEnabled" true "cloudConfig.instancesV2.typeLabels" false
  "cloudConfig.instancesV2.labelPrefix" "" "cloudConfig.instancesV2.taintPrefix" "" "cloudConfig.instancesV2.machineAnnotation" ""
  "cloudConfig.instancesV2.removalGracePeriod" 60 "cloudConfig.instancesV2.maxRemovals" 20 "cloudConfig.instancesV2.removalWindow" 600 "cloudConfig.instancesV2.dryRun" false
  "cloudConfig.clusterCIDR" "" "cloudConfig.routes.enabled" false "cloudConfig.routes.table" "" "cloudConfig.routes.exclusive" false "cloudConfig.routes.driftPeriod" 300
  "advanced.inventory.machineAge" 60 "advanced.inventory.balancerAge" 300
  "cloudConfig.api.callTimeout" 30 "cloudConfig.api.requestsPerSecond" 50 "advanced.api.burst" 100
  "caBundle.existing.kind" "ConfigMap" "caBundle.existing.key" "ca.crt"
  "credentials.create.enabled" false "credentials.workloadIdentity.enabled" false
  "credentials.workloadIdentity.audience" "https://api.thalassa.cloud" "credentials.workloadIdentity.lifetime" 3600
  "ironcore.useNICSelector" true "ironcore.kubeconfig.key" "kubeconfig" "ironcore.subject.kind" "User"
-}}
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
credentials.existingSecret and credentials.create.enabled exclude each other: name an existing Secret, or let the chart create one
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

{{/* Credentials in the values are complete, and set only if they are used. */}}
{{- define "thalassa-ccm.validate.created" -}}
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

{{- define "thalassa-ccm.validate.bundle" -}}
{{- $existing := include "thalassa-ccm.caExisting" . | fromJson -}}
{{- if and $existing.name (include "thalassa-ccm.caText" .) }}
caBundle.pem and caBundle.existing.name exclude each other: set the certificates as text, or name the object that contains them
{{- end }}
{{- if and (include "thalassa-ccm.caText" .) (include "thalassa-ccm.configExisting" . | fromJson).name }}
caBundle.pem and cloudConfig.existing.name exclude each other: with cloudConfig.existing, name the object with the certificates in caBundle.existing
{{- end }}
{{- if and .Values.cloudConfig.insecure (include "thalassa-ccm.caFile" .) }}
cloudConfig.insecure and caBundle exclude each other: cloudConfig.insecure disables the verification that caBundle is for, leave one of them out
{{- end }}
{{- end -}}
