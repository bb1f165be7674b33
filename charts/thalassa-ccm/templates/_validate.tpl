{{/* Stops the installation with one sentence for each value that is missing or not valid. */}}
{{- define "thalassa-ccm.validate" -}}
{{- include "thalassa-ccm.report" (dict "root" . "checks" (list "null")) -}}
{{- include "thalassa-ccm.report" (dict "root" . "checks" (list "reserved" "objects" "endpoint" "hosts" "image" "cidrs" "masks" "replicas" "pem")) -}}
{{- include "thalassa-ccm.report" (dict "root" . "checks" (list "other")) -}}
{{- include "thalassa-ccm.report" (dict "root" . "checks" (list "removed" "names" "profile" "workload" "rollout" "network" "tenant" "ironcore" "cloud" "balancers" "routes" "credentials" "bundle" "account" "metrics" "readers" "labels" "policy" "extras" "flags")) -}}
{{- end -}}

{{/* Each of these prints one line for each problem. */}}

{{/* Values that other templates need: those with @notnull in values.yaml. */}}
{{- define "thalassa-ccm.validate.null" -}}
{{- $top := list
  "bindAddress" "cloud" "cloudConfig" "credentials" "image" "logVerbosity" "profile" "rbac" "replicas" "securePort" "serviceAccount"
  "terminationGracePeriodSeconds"
-}}
{{- range $key := $top }}
{{- if kindIs "invalid" (index $.Values $key) }}
{{ $key }} is null: set a value, or leave it out to use the default
{{- end }}
{{- end }}
{{- range $key := list "pullPolicy" "repository" }}
{{- if and $.Values.image (kindIs "invalid" (index $.Values.image $key)) }}
image.{{ $key }} is null: set a value, or leave it out to use the default
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.profile" -}}
{{- if and (eq .Values.profile "managed") (not .Values.part) }}
part is required with profile managed: hosting installs the workload in the provider's cluster, and tenant installs its permissions in the served cluster, for example --set part=hosting
{{- end }}
{{- if and (ne .Values.profile "managed") .Values.part (not (include "thalassa-ccm.inCloud" .)) }}
part={{ .Values.part }} is only for profile managed: with profile self-managed, one release installs both parts, leave it out or set profile=managed
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.tenant" -}}
{{- $kubeconfig := (.Values.tenant).kubeconfig | default dict -}}
{{- $subject := (.Values.tenant).subject | default dict -}}
{{- $part := ternary (.Values.part | default "") "" (eq .Values.profile "managed") -}}
{{- if and (eq $part "hosting") (not $kubeconfig.existingSecret) }}
tenant.kubeconfig.existingSecret is required with part hosting: it names a Secret in namespace {{ include "thalassa-ccm.namespace" . }} with a kubeconfig of the served cluster, for example --set tenant.kubeconfig.existingSecret=tenant-kubeconfig
{{- end }}
{{- if and (eq $part "tenant") (not $subject.name) }}
tenant.subject.name is required with part tenant: it is the identity of the kubeconfig in the served cluster, for example --set tenant.subject.name=cloud-controller-manager
{{- end }}
{{- if and (eq $part "tenant") (eq ($subject.kind | default "") "ServiceAccount") (not $subject.namespace) }}
tenant.subject.namespace is required while tenant.subject.kind is ServiceAccount: it is the account's namespace in the served cluster, for example --set tenant.subject.namespace=kube-system
{{- end }}
{{- if and $subject.namespace (ne ($subject.kind | default "") "ServiceAccount") }}
tenant.subject.namespace is only for tenant.subject.kind=ServiceAccount: a {{ $subject.kind }} has no namespace, leave it out
{{- end }}
{{- if ne .Values.profile "managed" }}
{{- if $kubeconfig.existingSecret }}
tenant.kubeconfig.existingSecret is only for profile managed: in a self-managed cluster the pods use their own ServiceAccount, leave it out or set profile=managed
{{- end }}
{{- if $subject.name }}
tenant.subject.name is only for profile managed: in a self-managed cluster the roles are for the pods' own ServiceAccount, leave it out or set profile=managed
{{- end }}
{{- else if or .Values.kubernetesServiceHost .Values.kubernetesServicePort }}
kubernetesServiceHost and kubernetesServicePort are only for profile self-managed: with profile managed the kubeconfig contains the address of the API server, leave them out
{{- end }}
{{- end -}}

{{/* Labels that the chart sets itself. Two values for one key are not valid YAML. */}}
{{- define "thalassa-ccm.validate.labels" -}}
{{- $own := include "thalassa-ccm.ownLabels" . | fromYaml -}}
{{- $scrapes := (.Values.scrape).labels | default dict -}}
{{- $owners := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels "scrape.labels" $scrapes "rules.labels" (.Values.rules).labels "dashboards.labels" (.Values.dashboards).labels "serviceAccount.labels" .Values.serviceAccount.labels -}}
{{- range $value, $labels := $owners }}
{{- range $key, $_ := $labels }}
{{- if hasKey $own $key }}
{{ $value }} contains {{ $key }}, a label that the chart sets itself: leave it out
{{- end }}
{{- end }}
{{- end }}
{{- if hasKey ((.Values.rules).alertLabels | default dict) "severity" }}
rules.alertLabels contains severity, a label that the chart sets itself: leave it out
{{- end }}
{{- $annotations := dict "commonAnnotations" .Values.commonAnnotations "podAnnotations" .Values.podAnnotations -}}
{{- range $value, $given := $annotations }}
{{- range $key := list "checksum/config" "kubectl.kubernetes.io/default-container" }}
{{- if hasKey ($given | default dict) $key }}
{{ $value }} contains {{ $key }}, an annotation that the chart sets itself: leave it out
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.validate.policy" -}}
{{- $actions := (.Values.admissionPolicy).validationActions | default list -}}
{{- if and (has "Deny" $actions) (has "Warn" $actions) }}
admissionPolicy.validationActions: Deny and Warn exclude each other, because a refusal contains the text of the warning, leave one of them out
{{- end }}
{{- end -}}
