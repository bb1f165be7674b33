{{/*
What each part of the program needs in the cluster that is served. With an account for every
controller each part is a role of its own; otherwise they are one role.
*/}}

{{- define "thalassa-ccm.rules.process" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if or $work.nodes $work.lifecycle $work.services }}
# Caches: node controllers read Nodes, service controller reads targets.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- end }}
{{- if $work.services }}
# Caches: service controller reads Services.
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch]
{{- end }}
{{- include "thalassa-ccm.rules.events" . }}
# HTTPS port: who is asking for /metrics. The object is a question; nothing is stored.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
# HTTPS port: whether they may see it. A question, too.
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}

{{- define "thalassa-ccm.rules.events" }}
# What was done and why it could not be, on Services and Nodes; leader election: who leads.
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{- define "thalassa-ccm.rules.nodes" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if or $work.nodes $work.lifecycle }}
# Node controller: patches labels. Node life cycle controller: patches the shutdown taint.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, patch]
{{- end }}
{{- if $work.nodes }}
# Node controller: updates provider ID, labels and the "uninitialized" taint.
- apiGroups: [""]
  resources: [nodes]
  verbs: [update]
# Node controller: addresses.
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- end }}
{{- if $work.lifecycle }}
# Node life cycle controller: removes Nodes whose machine no longer exists.
- apiGroups: [""]
  resources: [nodes]
  verbs: [delete]
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.rules.services" }}
# Service controller: addresses of the load balancer, and the finalizer on the Services
# it serves, which it patches through the status, too.
- apiGroups: [""]
  resources: [services/status]
  verbs: [patch]
{{- end -}}

{{- define "thalassa-ccm.rules.cloud" }}
# The cloud's look for what was changed by hand: reads Services.
- apiGroups: [""]
  resources: [services]
  verbs: [get]
{{- end -}}

{{/* Accounts of controllers in kube-system, as the program names them: {"items": [...]}. */}}
{{- define "thalassa-ccm.accounts" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- $accounts := list "cloud-provider-thalassa" -}}
{{- if or $work.nodes $work.lifecycle -}}{{- $accounts = append $accounts "node-controller" -}}{{- end -}}
{{- if $work.services -}}{{- $accounts = append $accounts "service-controller" -}}{{- end -}}
{{- dict "items" $accounts | toJson -}}
{{- end -}}

{{/* Whom the roles are for: the pods' account, or the identity in the kubeconfig. */}}
{{- define "thalassa-ccm.subject" -}}
{{- if ne .Values.profile "managed" -}}
kind: ServiceAccount
name: {{ include "thalassa-ccm.serviceAccountName" . }}
namespace: {{ .Release.Namespace }}
{{- else -}}
{{- $subject := .Values.tenant.subject -}}
kind: {{ $subject.kind }}
{{- if ne $subject.kind "ServiceAccount" }}
apiGroup: rbac.authorization.k8s.io
{{- end }}
name: {{ $subject.name | quote }}
{{- with $subject.namespace }}
namespace: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}
