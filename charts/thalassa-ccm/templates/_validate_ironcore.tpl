{{/* Checks of the cloud and of the settings for IronCore. Each prints one line for each problem. */}}

{{/* Values that are only for the other cloud. */}}
{{- define "thalassa-ccm.validate.other" -}}
{{- if include "thalassa-ccm.ironcore" . -}}
{{- $shared := concat (include "thalassa-ccm.sharedKeys" . | fromJson).items (list "cloudConfig.clusterCIDR" "cloudConfig.routes.enabled") -}}
{{- $advice := dict
  "caBundle.existing.name" "the kubeconfig contains the certificate authority, leave it out"
  "caBundle.pem" "the kubeconfig contains the certificate authority, leave it out"
  "cloudConfig.cluster" "set ironcore.clusterName instead"
  "cloudConfig.formerClusterUIDs" "set ironcore.formerClusterUIDs instead"
  "cloudConfig.endpoint" "the kubeconfig contains the address of the API, leave it out"
  "cloudConfig.instancesV2.enabled" "set controllers.cloud-node-controller and controllers.cloud-node-lifecycle-controller instead"
  "cloudConfig.loadBalancer.enabled" "set controllers.service-lb-controller instead"
  "cloudConfig.vpcIdentity" "set ironcore.networkName instead"
  "credentials.existingSecret" "set ironcore.kubeconfig.existingSecret instead"
-}}
{{- range $path := (include "thalassa-ccm.changed" (dict "values" .Values "tops" (list "cloudConfig" "advanced" "credentials" "caBundle")) | fromJson).items }}
{{- if not (has $path $shared) }}
{{ $path }} is only for cloud=thalassa: {{ get $advice $path | default "leave it out" }}
{{- end }}
{{- end }}
{{- else -}}
{{- range $path := (include "thalassa-ccm.changed" (dict "values" .Values "tops" (list "ironcore")) | fromJson).items }}
{{ $path }} is only for cloud=ironcore: leave it out, or set cloud=ironcore
{{- end }}
{{- if include "thalassa-ccm.inCloud" . }}
part=cloud is only for cloud=ironcore: permissions in Thalassa Cloud are not objects of an API server, leave it out
{{- end }}
{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.validate.ironcore" -}}
{{- if include "thalassa-ccm.ironcore" . -}}
{{- include "thalassa-ccm.validate.ironcoreSubject" . }}
{{- if include "thalassa-ccm.hosting" . }}
{{- include "thalassa-ccm.validate.ironcoreConfig" . }}
{{- include "thalassa-ccm.validate.ironcoreKubeconfig" . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Keys of the configuration file, which cloudConfig.existing contains as a whole. */}}
{{- define "thalassa-ccm.validate.ironcoreConfig" -}}
{{- $existing := (include "thalassa-ccm.configExisting" . | fromJson).name -}}
{{- $file := concat (include "thalassa-ccm.sharedKeys" . | fromJson).items (list "ironcore.networkName" "ironcore.prefixName" "ironcore.prefixNameIPv6" "ironcore.clusterName" "ironcore.formerClusterUIDs" "ironcore.namespace") -}}
{{- if $existing }}
{{- range $path := (include "thalassa-ccm.changed" (dict "values" .Values "tops" (list "cloudConfig" "advanced" "ironcore")) | fromJson).items }}
{{- if has $path $file }}
{{ $path }} and cloudConfig.existing.name exclude each other: {{ $existing }} contains the whole file, set it there or leave one of them out
{{- end }}
{{- end }}
{{- else }}
{{- if eq (include "thalassa-ccm.scalar" (.Values.cloudConfig.loadBalancer).creationPollTimeout) "0" }}
cloudConfig.loadBalancer.creationPollTimeout is 0, which is not a time with cloud=ironcore: set a number of seconds, or leave it out
{{- end }}
{{- if not (.Values.ironcore).networkName }}
ironcore.networkName is required with cloud=ironcore: it is the Network that contains the cluster's machines, for example --set ironcore.networkName=nodes
{{- end }}
{{- if not (.Values.ironcore).clusterName }}
ironcore.clusterName is required with cloud=ironcore: it is a name that no other cluster of the namespace has, for example --set ironcore.clusterName=production
{{- end }}
{{- end }}
{{- end -}}

{{/* No message contains the kubeconfig. */}}
{{- define "thalassa-ccm.validate.ironcoreKubeconfig" -}}
{{- $kubeconfig := (.Values.ironcore).kubeconfig | default dict -}}
{{- if not (or $kubeconfig.existingSecret $kubeconfig.content) }}
ironcore.kubeconfig.existingSecret is required with cloud=ironcore: it names a Secret in namespace {{ include "thalassa-ccm.namespace" . }} with a kubeconfig of the IronCore API, for example --set ironcore.kubeconfig.existingSecret=ironcore-kubeconfig
{{- end }}
{{- if and $kubeconfig.existingSecret $kubeconfig.content }}
ironcore.kubeconfig.existingSecret and ironcore.kubeconfig.content exclude each other: name an existing Secret, or let the chart create one
{{- end }}
{{- if and $kubeconfig.content (not (contains "current-context" $kubeconfig.content)) }}
ironcore.kubeconfig.content is not a kubeconfig with a current-context: set the content of the file, for example --set-file ironcore.kubeconfig.content=./kubeconfig
{{- end }}
{{- end -}}

{{/* The identity in IronCore that part cloud grants the permissions. */}}
{{- define "thalassa-ccm.validate.ironcoreSubject" -}}
{{- $subject := (.Values.ironcore).subject | default dict -}}
{{- $account := eq ($subject.kind | default "") "ServiceAccount" -}}
{{- if and (include "thalassa-ccm.inCloud" .) (not $subject.name) }}
ironcore.subject.name is required with part cloud: it is the identity of the kubeconfig in IronCore, for example --set ironcore.subject.name=cloud-controller-manager
{{- end }}
{{- if and (include "thalassa-ccm.inCloud" .) $account (not $subject.namespace) }}
ironcore.subject.namespace is required while ironcore.subject.kind is ServiceAccount: it is the account's namespace in IronCore, for example --set ironcore.subject.namespace=production
{{- end }}
{{- if and $subject.namespace (not $account) }}
ironcore.subject.namespace is only for ironcore.subject.kind=ServiceAccount: a {{ $subject.kind | default "User" }} has no namespace, leave it out
{{- end }}
{{- end -}}
