{{/*
What each part of the program needs in the cluster that is served. With an account for every
controller each part is a role of its own; otherwise they are one role. In mode spec the role
of the program itself begins with the specification; of what follows, only that is left which
the specification does not cover. "Needed by" says which code needs it nevertheless.
*/}}

{{/* "true" if the specification is in the role of the program, or in the one role of everything. */}}
{{- define "thalassa-ccm.specified" -}}
{{- if eq (.Values.rbac.mode | default "minimal") "spec" -}}true{{- end -}}
{{- end -}}
{{- define "thalassa-ccm.allSpecified" -}}
{{- if not (.Values.useServiceAccountCredentials).enabled -}}{{ include "thalassa-ccm.specified" . }}{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.rules.specification" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if or $work.nodes $work.lifecycle $work.services }}
# Specification, v1/Node: node controller; the others read them.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, create, update, patch, watch, delete]
{{- end }}
{{- if $work.services }}
# Specification, v1/Service: service controller.
- apiGroups: [""]
  resources: [services]
  verbs: [list, get, watch, patch, update]
# Specification, v1/Service: service controller, the status by patch or update.
- apiGroups: [""]
  resources: [services/status]
  verbs: [patch, update]
# Specification, Endpoints: legacy of the service controller.
- apiGroups: [""]
  resources: [endpoints]
  verbs: [create, list, get, watch, update]
{{- end }}
# Specification, Event: all controllers.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
# Specification, ServiceAccount: to run each controller under an account of its own.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [create]
{{ end -}}

{{- define "thalassa-ccm.rules.process" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if not (include "thalassa-ccm.specified" .) }}
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
{{- if (.Values.useServiceAccountCredentials).enabled }}
# Leader election: who leads. What controllers have to say is said by their own accounts.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end }}
{{- end }}
{{- if not (.Values.useServiceAccountCredentials).enabled }}
{{- include "thalassa-ccm.rules.events" . }}
{{- end }}
# HTTPS port: who is asking for /metrics. The object is a question; nothing is stored.
# Needed by k8s.io/apiserver, delegated authentication.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
# HTTPS port: whether they may see it. A question, too.
# Needed by k8s.io/apiserver, delegated authorization.
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}

{{- define "thalassa-ccm.rules.events" }}
{{- if not (include "thalassa-ccm.allSpecified" .) }}
# What was done and why it could not be, on Services and Nodes; leader election: who leads.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end }}
# The same event once more: it is counted. Needed by k8s.io/client-go, tools/record.
- apiGroups: [""]
  resources: [events]
  verbs: [patch]
{{- end -}}

{{- define "thalassa-ccm.rules.nodes" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- $specified := include "thalassa-ccm.allSpecified" . -}}
{{- if and (or $work.nodes $work.lifecycle) (not $specified) }}
# Node controller: patches labels. Node life cycle controller: patches the shutdown taint.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, patch]
{{- end }}
{{- if and $work.nodes (not $specified) }}
# Node controller: updates provider ID, labels and the "uninitialized" taint.
- apiGroups: [""]
  resources: [nodes]
  verbs: [update]
{{- end }}
{{- if $work.nodes }}
# Node controller: addresses. Needed by k8s.io/cloud-provider, controllers/node.
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- end }}
{{- if and $work.lifecycle (not $specified) }}
# Node life cycle controller: removes Nodes whose machine no longer exists.
- apiGroups: [""]
  resources: [nodes]
  verbs: [delete]
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.rules.services" }}
{{- if not (include "thalassa-ccm.allSpecified" .) }}
# Service controller: addresses of the load balancer, and the finalizer on the Services
# it serves, which it patches through the status, too.
- apiGroups: [""]
  resources: [services/status]
  verbs: [patch]
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.rules.cloud" }}
{{- if not (include "thalassa-ccm.allSpecified" .) }}
# The cloud's look for what was changed by hand: reads Services.
- apiGroups: [""]
  resources: [services]
  verbs: [get]
{{- end }}
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
name: {{ include "thalassa-ccm.serviceAccountName" . | quote }}
namespace: {{ .Release.Namespace | quote }}
{{- else -}}
{{- $subject := .Values.tenant.subject -}}
kind: {{ $subject.kind }}
{{- if ne $subject.kind "ServiceAccount" }}
apiGroup: rbac.authorization.k8s.io
{{- end }}
name: {{ $subject.name | quote }}
{{- with $subject.namespace }}
namespace: {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}
