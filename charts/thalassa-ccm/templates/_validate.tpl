{{/* Stops the installation with one sentence for each value that is missing or in the wrong place. */}}
{{- define "thalassa-ccm.validate" -}}
{{- $problems := list -}}
{{- if not .Values.cloudConfig.organisation -}}
{{- $problems = append $problems "cloudConfig.organisation is required: it names the Thalassa Cloud organisation that owns the cluster's machines, for example --set cloudConfig.organisation=my-organisation" -}}
{{- end -}}
{{- if not .Values.cloudConfig.vpcIdentity -}}
{{- $problems = append $problems "cloudConfig.vpcIdentity is required: it is the identity of the VPC that holds the cluster's machines, for example --set cloudConfig.vpcIdentity=vpc-0123456789" -}}
{{- end -}}
{{- if not .Values.cloudConfig.cluster -}}
{{- $problems = append $problems "cloudConfig.cluster is required: it is a name no other cluster of the organisation has, for example --set cloudConfig.cluster=production" -}}
{{- end -}}
{{- $identity := include "thalassa-ccm.workloadIdentity" . | fromJson -}}
{{- if not (or .Values.credentials.existingSecret $identity.enabled) -}}
{{- $problems = append $problems (printf "credentials.existingSecret is required: it names a Secret in namespace %s with the key personalAccessToken, or with the keys clientID and clientSecret, for example --set credentials.existingSecret=thalassa-credentials; without a Secret set credentials.workloadIdentity" .Release.Namespace) -}}
{{- end -}}
{{- if and .Values.credentials.existingSecret $identity.enabled -}}
{{- $problems = append $problems "credentials.existingSecret and credentials.workloadIdentity.enabled exclude each other: with a workload identity there is no Secret, leave one of them out" -}}
{{- end -}}
{{- if and $identity.enabled (not $identity.serviceAccountID) -}}
{{- $problems = append $problems "credentials.workloadIdentity.serviceAccountID is required while credentials.workloadIdentity.enabled is true: it is the identity of the cloud's service account, for example --set credentials.workloadIdentity.serviceAccountID=sa-0123456789" -}}
{{- end -}}
{{- $existing := include "thalassa-ccm.caExisting" . | fromJson -}}
{{- if and $existing.name (include "thalassa-ccm.caText" .) -}}
{{- $problems = append $problems "caBundle.pem and caBundle.existing.name exclude each other: give the certificates as text, or name the object that holds them" -}}
{{- end -}}
{{- if and .Values.cloudConfig.insecure (include "thalassa-ccm.caFile" .) -}}
{{- $problems = append $problems "cloudConfig.insecure and caBundle exclude each other: a certificate that is not verified needs no certificates to verify it with" -}}
{{- end -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) -}}
{{- $problems = append $problems (printf "serviceAccount.name is required while serviceAccount.create is false: it names the ServiceAccount in namespace %s that the pods run as, for example --set serviceAccount.name=cloud-controller-manager" .Release.Namespace) -}}
{{- end -}}
{{- $owned := dict
  "bind-address" "set bindAddress instead"
  "cloud-config" "set the values under cloudConfig instead"
  "cloud-provider" "leave it out, the chart is for one cloud"
  "cluster-name" "set cloudConfig.cluster instead"
  "leader-elect" "leave it out, two active managers would undo each other's work"
  "leader-elect-resource-name" "leave it out, the Role grants the Lease cloud-controller-manager only"
  "leader-elect-resource-namespace" "leave it out, the Role grants the Lease in kube-system only"
  "secure-port" "set securePort instead"
  "v" "set logVerbosity instead"
-}}
{{- range $name, $advice := $owned -}}
{{- if hasKey (default dict $.Values.extraArgs) $name -}}
{{- $problems = append $problems (printf "extraArgs.%s is a flag the chart sets itself: %s" $name $advice) -}}
{{- end -}}
{{- end -}}
{{- if $problems -}}
{{- fail (join "\n" $problems) -}}
{{- end -}}
{{- end -}}
