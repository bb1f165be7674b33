{{/*
Permissions of each part of the program in the served cluster. With an account for every
controller, each part has its own role; otherwise there is one role. In mode spec, the role
of the program begins with the rules of the specification, followed by the rules that the
specification does not contain. "Needed by" names the code that needs such a rule.
*/}}

{{/* "true" if the role of the program, or the only role, contains the specification. */}}
{{- define "thalassa-ccm.specified" -}}
{{- if eq (.Values.rbac.mode | default "minimal") "spec" -}}true{{- end -}}
{{- end -}}
{{- define "thalassa-ccm.allSpecified" -}}
{{- if not (.Values.useServiceAccountCredentials).enabled -}}{{ include "thalassa-ccm.specified" . }}{{- end -}}
{{- end -}}

{{- define "thalassa-ccm.rules.specification" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if or $work.nodes $work.lifecycle $work.services $work.routes $work.networks }}
# Specification, v1/Node: node controller. The other controllers read Nodes.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, create, update, patch, watch, delete]
{{- end }}
{{- if $work.services }}
# Specification, v1/Service: service controller.
- apiGroups: [""]
  resources: [services]
  verbs: [list, get, watch, patch, update]
# Specification, v1/Service: service controller. It writes the status by patch or update.
- apiGroups: [""]
  resources: [services/status]
  verbs: [patch, update]
# Specification, Endpoints: older service controllers.
- apiGroups: [""]
  resources: [endpoints]
  verbs: [create, list, get, watch, update]
{{- end }}
# Specification, Event: all controllers.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
# Specification, ServiceAccount: runs each controller under its own account.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [create]
{{ end -}}

{{- define "thalassa-ccm.rules.process" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- if not (include "thalassa-ccm.specified" .) }}
{{- if or $work.nodes $work.lifecycle $work.services $work.routes $work.networks }}
# Caches: the node controllers read Nodes, and the service controller reads the targets of load balancers.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- end }}
{{- if $work.services }}
# Caches: the service controller reads Services.
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch]
{{- end }}
{{- if (.Values.useServiceAccountCredentials).enabled }}
# Leader election: the event that names the new leader. The controllers create events with their own accounts.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end }}
{{- end }}
{{- if $work.services }}
# Caches: the service controller watches the endpoints of Services whose externalTrafficPolicy is Local.
# Needed by src/controller/service, endpoints.go.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
{{- end }}
{{- if not (.Values.useServiceAccountCredentials).enabled }}
{{- include "thalassa-ccm.rules.events" . }}
{{- end }}
# HTTPS port: authenticates clients of /metrics. The API server does not store these objects.
# Needed by k8s.io/apiserver, delegated authentication.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
# HTTPS port: authorizes clients of /metrics. The API server does not store these objects.
# Needed by k8s.io/apiserver, delegated authorization.
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end -}}

{{- define "thalassa-ccm.rules.events" }}
{{- if not (include "thalassa-ccm.allSpecified" .) }}
# Events on Services and Nodes about changes and failures. Leader election: the event that names the new leader.
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end }}
# Increments the count of a repeated event. Needed by k8s.io/client-go, tools/record.
- apiGroups: [""]
  resources: [events]
  verbs: [patch]
{{- end -}}

{{- define "thalassa-ccm.rules.nodes" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- $specified := include "thalassa-ccm.allSpecified" . -}}
{{- if and (or $work.nodes $work.lifecycle $work.networks) (not $specified) }}
# Node controller: patches the provider ID, labels, taints, and the annotation that records
# them. Node life cycle controller: patches the shutdown taint. Node IPAM controller:
# patches the networks of pods.
- apiGroups: [""]
  resources: [nodes]
  verbs: [patch]
{{- end }}
{{- if and $work.networks (.Values.useServiceAccountCredentials).enabled }}
# Node IPAM controller: lists the networks in use, because the caches may be older.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list]
{{- end }}
{{- if $work.nodes }}
# Node controller: patches addresses, and labels in the same request. Needed by src/controller/node, patch.go.
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- else if not (.Values.useServiceAccountCredentials).enabled }}
{{- include "thalassa-ccm.rules.routes" . }}
{{- end }}
{{- if and $work.lifecycle (not $specified) }}
# Node life cycle controller: reads a Node again before it deletes the Node, when the
# machine of the Node no longer exists.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, delete]
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.rules.routes" }}
{{- if (include "thalassa-ccm.work" . | fromJson).routes }}
# Route controller: patches the condition NetworkUnavailable. Needed by src/controller/route, condition.go.
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
{{- end }}
{{- end -}}

{{- define "thalassa-ccm.rules.services" }}
{{- if not (include "thalassa-ccm.allSpecified" .) }}
# Service controller: patches the addresses, the conditions and the finalizer of Services. The
# status subresource also permits patching the finalizer.
- apiGroups: [""]
  resources: [services/status]
  verbs: [patch]
{{- end }}
{{- if and (.Values.useServiceAccountCredentials).enabled (include "thalassa-ccm.removesOrphans" .) }}
# Service controller: lists Services again before it deletes load balancers whose Service no longer exists.
- apiGroups: [""]
  resources: [services]
  verbs: [list]
{{- end }}
{{- end -}}

{{/*
Accounts of the controllers in kube-system, by the names that the program uses: {"items": [...]}.
The account of the cloud creates only events about files with secrets.
*/}}
{{- define "thalassa-ccm.accounts" -}}
{{- $work := include "thalassa-ccm.work" . | fromJson -}}
{{- $accounts := list -}}
{{- if include "thalassa-ccm.secretFiles" . -}}{{- $accounts = append $accounts (printf "cloud-provider-%s" .Values.cloud) -}}{{- end -}}
{{- if or $work.nodes $work.lifecycle $work.networks -}}{{- $accounts = append $accounts "node-controller" -}}{{- end -}}
{{- if $work.routes -}}{{- $accounts = append $accounts "route-controller" -}}{{- end -}}
{{- if $work.services -}}{{- $accounts = append $accounts "service-controller" -}}{{- end -}}
{{- dict "items" $accounts | toJson -}}
{{- end -}}

{{/* Subject of the roles: the account of the pods, or the identity of the kubeconfig. */}}
{{- define "thalassa-ccm.subject" -}}
{{- if ne .Values.profile "managed" -}}
kind: ServiceAccount
name: {{ include "thalassa-ccm.serviceAccountName" . | quote }}
namespace: {{ include "thalassa-ccm.namespace" . | quote }}
{{- else -}}
{{- include "thalassa-ccm.identity" .Values.tenant.subject -}}
{{- end -}}
{{- end -}}

{{/* A subject from kind, name and namespace. */}}
{{- define "thalassa-ccm.identity" -}}
kind: {{ .kind | default "User" }}
{{- if ne (.kind | default "User") "ServiceAccount" }}
apiGroup: rbac.authorization.k8s.io
{{- end }}
name: {{ .name | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
{{- end -}}
