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
{{- if or $work.nodes $work.lifecycle $work.services $work.routes $work.networks }}
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
{{- if or $work.nodes $work.lifecycle $work.services $work.routes $work.networks }}
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
{{- if $work.services }}
# Caches: service controller follows the endpoints of Services whose externalTrafficPolicy is Local.
# Needed by src/controller/service, endpoints.go.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
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
{{- if and (or $work.nodes $work.lifecycle $work.networks) (not $specified) }}
# Node controller: patches provider ID, labels, taints and the annotation that remembers
# them. Node life cycle controller: patches the shutdown taint. Node IPAM controller:
# patches the networks of pods.
- apiGroups: [""]
  resources: [nodes]
  verbs: [patch]
{{- end }}
{{- if and $work.networks (.Values.useServiceAccountCredentials).enabled }}
# Node IPAM controller: which networks are taken, from a list that is newer than the caches may be.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list]
{{- end }}
{{- if $work.nodes }}
# Node controller: addresses, and labels together with them. Needed by src/controller/node, patch.go.
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- else if not (.Values.useServiceAccountCredentials).enabled }}
{{- include "thalassa-ccm.rules.routes" . }}
{{- end }}
{{- if and $work.lifecycle (not $specified) }}
# Node life cycle controller: reads a Node once more, and removes it, when its machine no
# longer exists.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, delete]
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.rules.routes" }}
{{- if (include "thalassa-ccm.work" . | fromJson).routes }}
# Route controller: the condition NodeNetworkUnavailable. Needed by src/controller/route, condition.go.
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.rules.services" }}
{{- if not (include "thalassa-ccm.allSpecified" .) }}
# Service controller: addresses and conditions of the Services it serves, and their
# finalizer, which it patches through the status, too.
- apiGroups: [""]
  resources: [services/status]
  verbs: [patch]
{{- end }}
{{- if and (.Values.useServiceAccountCredentials).enabled (include "thalassa-ccm.removesOrphans" .) }}
# Service controller: asks once more whether a Service is gone before it removes what is left of it.
- apiGroups: [""]
  resources: [services]
  verbs: [list]
{{- end }}
{{- end -}}

{{/*
Accounts of controllers in kube-system, as the program names them: {"items": [...]}. That of the
cloud itself has to say something only about files with secrets.
*/}}
{{- define "thalassa-ccm.accounts" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- $accounts := list -}}
{{- if include "thalassa-ccm.secretFiles" . -}}{{- $accounts = append $accounts "cloud-provider-thalassa" -}}{{- end -}}
{{- if or $work.nodes $work.lifecycle $work.networks -}}{{- $accounts = append $accounts "node-controller" -}}{{- end -}}
{{- if $work.routes -}}{{- $accounts = append $accounts "route-controller" -}}{{- end -}}
{{- if $work.services -}}{{- $accounts = append $accounts "service-controller" -}}{{- end -}}
{{- dict "items" $accounts | toJson -}}
{{- end -}}

{{/* Whom the roles are for: the pods' account, or the identity in the kubeconfig. */}}
{{- define "thalassa-ccm.subject" -}}
{{- if ne .Values.profile "managed" -}}
kind: ServiceAccount
name: {{ include "thalassa-ccm.serviceAccountName" . | quote }}
namespace: {{ include "thalassa-ccm.namespace" . | quote }}
{{- else -}}
{{- $subject := .Values.tenant.subject -}}
kind: {{ $subject.kind | default "User" }}
{{- if ne ($subject.kind | default "User") "ServiceAccount" }}
apiGroup: rbac.authorization.k8s.io
{{- end }}
name: {{ $subject.name | quote }}
{{- with $subject.namespace }}
namespace: {{ . | quote }}
{{- end }}
{{- end -}}
{{- end -}}
