{{/* Stops the installation with one sentence for each value that is missing or in the wrong place. */}}
{{- define "thalassa-ccm.validate" -}}
{{- $problems := list -}}
{{- range list "removed" "names" "profile" "workload" "tenant" "cloud" "credentials" "bundle" "account" "metrics" "labels" "policy" "flags" -}}
{{- range splitList "\n" (include (printf "thalassa-ccm.validate.%s" .) $) -}}
{{- with trim . -}}{{- $problems = append $problems . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (join "\n" $problems) -}}
{{- end -}}
{{- end -}}

{{/* Each of these prints one line for each problem. */}}

{{- define "thalassa-ccm.validate.removed" -}}
{{- range $path, $advice := .Files.Get "removed.yaml" | fromYaml }}
{{- $value := $.Values }}
{{- range $key := splitList "." $path }}
{{- $value = ternary (dict "found" $value) dict (kindIs "map" $value) }}
{{- $value = get ($value.found | default dict) $key }}
{{- end }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
{{ $path }} is no value of this version any more: {{ $advice }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The rules for names of Services are the strictest; a name that is made from the release's is cut to 63 characters. */}}
{{- define "thalassa-ccm.validate.names" -}}
{{- $name := .Values.fullnameOverride | default (include "thalassa-ccm.fullname" .) -}}
{{- if or (gt (len $name) 63) (not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name)) }}
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
{{- if and (.Values.networkPolicy).enabled (eq (include "thalassa-ccm.hostNetwork" .) "true") }}
networkPolicy.enabled and hostNetwork exclude each other: no NetworkPolicy is applied on the host network, set one of them to false
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.tenant" -}}
{{- $kubeconfig := (.Values.tenant).kubeconfig | default dict -}}
{{- $subject := (.Values.tenant).subject | default dict -}}
{{- $part := ternary (.Values.part | default "") "" (eq .Values.profile "managed") -}}
{{- if and (eq $part "hosting") (not $kubeconfig.existingSecret) }}
tenant.kubeconfig.existingSecret is required with part hosting: it names a Secret in namespace {{ .Release.Namespace }} with a kubeconfig of the served cluster, for example --set tenant.kubeconfig.existingSecret=tenant-kubeconfig
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
{{- range $path := (include "thalassa-ccm.cloudConfigSet" $config | fromJson).items }}
cloudConfig.{{ $path }} and cloudConfig.existing.name exclude each other: the whole file comes from {{ $existing }}, set it there or leave one of them out
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

{{/* Keys of cloudConfig that are not as in values.yaml, as {"items": [...]}. A test compares these defaults with it. */}}
{{- define "thalassa-ccm.cloudConfigSet" -}}
{{- $defaults := dict
  "endpoint" "https://api.thalassa.cloud"
  "loadBalancer.enabled" true "loadBalancer.creationPollInterval" 5 "loadBalancer.creationPollTimeout" 300 "loadBalancer.driftPeriod" 300
  "instancesV2.enabled" true "instancesV2.zoneAndRegionEnabled" true
  "inventory.machineAge" 60 "inventory.balancerAge" 300
  "api.callTimeout" 30 "api.requestsPerSecond" 50 "api.burst" 100
-}}
{{- $set := list -}}
{{- range $key, $value := omit . "existing" -}}
{{- if and (kindIs "map" $value) (ne $key "additionalLabels") -}}
{{- range $inner, $nested := $value -}}
{{- $path := printf "%s.%s" $key $inner -}}
{{- if ne (toString $nested) (toString (get $defaults $path)) -}}{{- $set = append $set $path -}}{{- end -}}
{{- end -}}
{{- else if and $value (ne (toString $value) (toString (get $defaults $key))) -}}
{{- $set = append $set $key -}}
{{- end -}}
{{- end -}}
{{- dict "items" $set | toJson -}}
{{- end -}}

{{- define "thalassa-ccm.validate.credentials" -}}
{{- if include "thalassa-ccm.hosting" . -}}
{{- $identity := include "thalassa-ccm.workloadIdentity" . | fromJson -}}
{{- $create := .Values.credentials.create | default dict -}}
{{- $whole := (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- if not (or .Values.credentials.existingSecret $identity.enabled $create.enabled $whole) }}
credentials.existingSecret is required: it names a Secret in namespace {{ .Release.Namespace }} with the key personalAccessToken, or with the keys clientID and clientSecret, for example --set credentials.existingSecret=thalassa-credentials; without a Secret set credentials.workloadIdentity
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
serviceAccount.name is required while serviceAccount.create is false: it names the ServiceAccount in namespace {{ .Release.Namespace }} that the pods run as, for example --set serviceAccount.name=cloud-controller-manager
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.metrics" -}}
{{- $scrape := .Values.scrape | default dict -}}
{{- $identified := or ($scrape.token).existingSecret ($scrape.clientCertificate).existingSecret -}}
{{- $monitor := ternary "serviceMonitor.enabled" "podMonitor.enabled" (not (not (.Values.serviceMonitor).enabled)) -}}
{{- if and (.Values.serviceMonitor).enabled (.Values.podMonitor).enabled }}
serviceMonitor.enabled and podMonitor.enabled exclude each other: with both, everything would be read twice
{{- end }}
{{- if and ($scrape.token).existingSecret ($scrape.clientCertificate).existingSecret }}
scrape.token.existingSecret and scrape.clientCertificate.existingSecret exclude each other: Prometheus identifies itself in one way, leave one of them out
{{- end }}
{{- if and (include "thalassa-ccm.hosting" .) (or (.Values.podMonitor).enabled (.Values.serviceMonitor).enabled) (not $identified) }}
{{- if eq .Values.profile "managed" }}
scrape.clientCertificate.existingSecret is required with profile managed while {{ $monitor }} is true: the served cluster does not know Prometheus, and must not see its token, for example --set scrape.clientCertificate.existingSecret=prometheus-client
{{- else if (.Values.podMonitor).enabled }}
scrape.token.existingSecret is required while podMonitor.enabled is true: only a ServiceMonitor may show Prometheus' own token, for example --set scrape.token.existingSecret=prometheus-token; or set scrape.clientCertificate.existingSecret
{{- end }}
{{- end }}
{{- end -}}

{{/* Labels the chart sets itself. Two values for one key would be no YAML. */}}
{{- define "thalassa-ccm.validate.labels" -}}
{{- $own := include "thalassa-ccm.ownLabels" . | fromYaml -}}
{{- $scrapes := (.Values.scrape).labels | default dict -}}
{{- $owners := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels "scrape.labels" $scrapes "rules.labels" (.Values.rules).labels -}}
{{- range $value, $labels := $owners }}
{{- range $key, $_ := $labels }}
{{- if hasKey $own $key }}
{{ $value }} has {{ $key }}, a label the chart sets itself: leave it out
{{- end }}
{{- end }}
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

{{- define "thalassa-ccm.validate.flags" -}}
{{- $kubeconfig := ternary "set tenant.kubeconfig instead" "leave it out, in a self-managed cluster the pods use their own ServiceAccount" (eq .Values.profile "managed") -}}
{{- $owned := dict
  "authentication-kubeconfig" $kubeconfig
  "authorization-kubeconfig" $kubeconfig
  "bind-address" "set bindAddress instead"
  "client-ca-file" "set metrics.clientCA instead"
  "cloud-config" "set the values under cloudConfig instead"
  "cloud-provider" "leave it out, the chart is for one cloud"
  "cluster-name" "set cloudConfig.cluster instead"
  "controllers" "set the values under controllers instead"
  "kubeconfig" $kubeconfig
  "leader-elect" "leave it out, two active managers would undo each other's work"
  "leader-elect-resource-name" "leave it out, the Role grants the Lease cloud-controller-manager only"
  "leader-elect-resource-namespace" "leave it out, the Role grants the Lease in kube-system only"
  "secure-port" "set securePort instead"
  "tls-cert-file" "set metrics.tlsSecret instead"
  "tls-private-key-file" "set metrics.tlsSecret instead"
  "use-service-account-credentials" "set useServiceAccountCredentials.enabled instead"
  "v" "set logVerbosity instead"
-}}
{{- range $name, $advice := $owned }}
{{- if hasKey (default dict $.Values.extraArgs) $name }}
extraArgs.{{ $name }} is a flag the chart sets itself: {{ $advice }}
{{- end }}
{{- end }}
{{- end -}}
