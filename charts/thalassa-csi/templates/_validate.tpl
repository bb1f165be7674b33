{{/* Stops the installation with one sentence for each value that is missing or not valid. */}}
{{- define "thalassa-csi.validate" -}}
{{- include "thalassa-csi.report" (dict "root" . "checks" (list "null")) -}}
{{- include "thalassa-csi.report" (dict "root" . "checks" (list "reserved" "objects" "endpoint" "hosts" "images" "cidrs" "pem")) -}}
{{- include "thalassa-csi.report" (dict "root" . "checks" (list "removed" "names" "keys" "secrets" "bundle" "accounts" "snapshots" "classes" "network" "monitors" "labels" "extras" "flags" "policy")) -}}
{{- end -}}

{{/* Defaults of values.yaml by their paths, as JSON. A test compares them. */}}
{{- define "thalassa-csi.defaults" -}}
{{- dict
  "cloudConfig.endpoint" "https://api.thalassa.cloud" "cloudConfig.insecure" false
  "cloudConfig.api.callTimeout" 30 "cloudConfig.api.requestsPerSecond" 50
  "advanced.inventory.machineAge" 60 "advanced.api.burst" 100 | toJson
-}}
{{- end -}}

{{/* Values that other templates need: those with @notnull in values.yaml. A test compares them. */}}
{{- define "thalassa-csi.notNull" -}}
{{- $paths := list
  "cloudConfig" "controller" "controller.httpPort" "controller.logVerbosity" "controller.replicas" "controller.serviceAccount"
  "controller.terminationGracePeriodSeconds" "credentials" "image" "image.pullPolicy" "image.repository" "node"
  "node.formatNonzeroSeconds" "node.httpPort" "node.kubeletDirectory" "node.logVerbosity" "node.serviceAccount" "node.terminationGracePeriodSeconds" "node.volumeLimit" "rbac"
  "sidecars" "sidecars.kubeAPIBurst" "sidecars.kubeAPIQPS" "sidecars.timeout" "sidecars.workers"
-}}
{{- range $key := list "attacher" "provisioner" "resizer" "snapshotController" "snapshotter" -}}
{{- $paths = concat $paths (list (printf "sidecars.%s" $key) (printf "sidecars.%s.image" $key) (printf "sidecars.%s.image.repository" $key) (printf "sidecars.%s.image.tag" $key) (printf "sidecars.%s.logVerbosity" $key)) -}}
{{- end -}}
{{- dict "items" $paths | toJson -}}
{{- end -}}

{{/* Each of these prints one line for each problem. */}}

{{/* A value inside a section that is null is not reported again. */}}
{{- define "thalassa-csi.validate.null" -}}
{{- $reported := list -}}
{{- range $path := (include "thalassa-csi.notNull" . | fromJson).items }}
{{- $value := $.Values }}
{{- range $key := splitList "." $path }}
{{- $value = ternary (dict "found" $value) dict (kindIs "map" $value) }}
{{- $value = get ($value.found | default dict) $key }}
{{- end }}
{{- $inside := false }}
{{- range $reported }}{{- if hasPrefix (printf "%s." .) $path }}{{- $inside = true }}{{- end }}{{- end }}
{{- if and (not $inside) (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
{{- $reported = append $reported $path }}
{{ $path }} is null: set a value, or leave it out to use the default
{{- end }}
{{- end }}
{{- end -}}

{{/* Names of existing objects. No message contains the value: it may be the credential itself. */}}
{{- define "thalassa-csi.validate.objects" -}}
{{- $names := dict
  "caBundle.existing.name" ((.Values.caBundle).existing).name
  "cloudConfig.existing.name" (.Values.cloudConfig.existing).name
  "controller.serviceAccount.name" .Values.controller.serviceAccount.name
  "credentials.existingSecret" .Values.credentials.existingSecret
  "node.serviceAccount.name" .Values.node.serviceAccount.name
-}}
{{- include "thalassa-csi.objectProblems" (dict "root" . "names" $names) -}}
{{- end -}}

{{- define "thalassa-csi.validate.hosts" -}}
{{- include "thalassa-csi.serverProblems" . -}}
{{- end -}}

{{- define "thalassa-csi.validate.images" -}}
{{- include "thalassa-csi.imageProblems" (dict "root" . "path" "image" "image" .Values.image "example" "thalassa-cloud/thalassa-ccm/csi-driver") -}}
{{- range $key := list "attacher" "provisioner" "resizer" "snapshotController" "snapshotter" }}
{{- include "thalassa-csi.imageProblems" (dict "root" (dict "Values" dict) "path" (printf "sidecars.%s.image" $key) "image" (index $.Values.sidecars $key).image "example" "sig-storage/csi-provisioner") }}
{{- end }}
{{- end -}}

{{- define "thalassa-csi.validate.cidrs" -}}
{{- $lists := dict "networkPolicy.apiServer.cidrs" ((.Values.networkPolicy).apiServer).cidrs "networkPolicy.cloudAPI.cidrs" ((.Values.networkPolicy).cloudAPI).cidrs -}}
{{- range $path, $list := $lists }}
{{- range $list }}
{{- if not (include "thalassa-csi.cidr" (trim .) | fromJson).family }}
{{ $path }} contains {{ . | quote }}, which is not a network: set an address, a slash and the length of the prefix (at most 32 for IPv4, 128 for IPv6), such as 10.0.0.0/24 or fd00:244::/48
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-csi.validate.accounts" -}}
{{- range $component := list "controller" "node" }}
{{- $account := (index $.Values $component).serviceAccount }}
{{- if not (or $account.create $account.name) }}
{{ $component }}.serviceAccount.name is required while {{ $component }}.serviceAccount.create is false: it names the ServiceAccount in namespace {{ include "thalassa-csi.namespace" $ }} that the pods run as, for example --set {{ $component }}.serviceAccount.name=csi-{{ $component }}
{{- end }}
{{- end }}
{{- $controller := include "thalassa-csi.accountName" (dict "root" . "component" "controller") -}}
{{- if eq $controller (include "thalassa-csi.accountName" (dict "root" . "component" "node")) }}
controller.serviceAccount.name and node.serviceAccount.name are both {{ $controller }}: every node would have the permissions of the controller, set different names
{{- end }}
{{- end -}}

{{- define "thalassa-csi.validate.snapshots" -}}
{{- if and ((.Values.snapshots).controller).enabled (not (.Values.snapshots).enabled) }}
snapshots.controller.enabled requires snapshots.enabled: without csi-snapshotter no snapshot is created, set snapshots.enabled=true or leave snapshots.controller.enabled out
{{- end }}
{{- end -}}

{{/* Names of classes are unique, and one of them is the default. */}}
{{- define "thalassa-csi.validate.classes" -}}
{{- range $path, $classes := dict "snapshots.classes" (.Values.snapshots).classes "storageClasses" .Values.storageClasses }}
{{- $names := list }}
{{- $defaults := list }}
{{- range $classes }}
{{- if has .name $names }}
{{ $path }} contains the name {{ .name }} twice: give each class a name of its own
{{- end }}
{{- $names = append $names .name }}
{{- if .default }}{{- $defaults = append $defaults .name }}{{- end }}
{{- end }}
{{- if gt (len $defaults) 1 }}
{{ $path }} has more than one default, {{ join " and " $defaults }}: set default: true for one of them
{{- end }}
{{- end }}
{{- range .Values.storageClasses }}
{{- range $key, $_ := .parameters }}
{{- if eq $key "volume-type" }}
storageClasses contains a class with parameters.volume-type: set volumeType instead
{{- else if has $key (list "fstype" "csi.storage.k8s.io/fstype") }}
storageClasses contains a class with parameters.{{ $key }}: set filesystem instead
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "thalassa-csi.validate.policy" -}}
{{- $actions := (.Values.admissionPolicy).validationActions | default list -}}
{{- if and (has "Deny" $actions) (has "Warn" $actions) }}
admissionPolicy.validationActions: Deny and Warn exclude each other, because a refusal contains the text of the warning, leave one of them out
{{- end }}
{{- end -}}

{{/* Ports of the cloud's API that are permitted by default. */}}
{{- define "thalassa-csi.cloudPorts" -}}
{{- list 443 | toJson -}}
{{- end -}}

{{- define "thalassa-csi.validate.network" -}}
{{- if (.Values.networkPolicy).enabled -}}
{{- include "thalassa-csi.blockedPorts" . -}}
{{- end }}
{{- end -}}

{{- define "thalassa-csi.validate.monitors" -}}
{{- if and (.Values.serviceMonitor).enabled (.Values.podMonitor).enabled }}
serviceMonitor.enabled and podMonitor.enabled exclude each other: with both, Prometheus scrapes each pod twice, leave one of them out
{{- end }}
{{- end -}}

{{/* Labels that the chart sets itself. Two values for one key are not valid YAML. */}}
{{- define "thalassa-csi.validate.labels" -}}
{{- $own := merge (include "thalassa-csi.ownLabels" . | fromYaml) (include "thalassa-csi.componentLabels" (dict "root" . "component" "node") | fromYaml) -}}
{{- $owners := dict "commonLabels" .Values.commonLabels "controller.podLabels" .Values.controller.podLabels "node.podLabels" .Values.node.podLabels "scrape.labels" (.Values.scrape).labels "rules.labels" (.Values.rules).labels -}}
{{- range $path, $classes := dict "snapshots.classes" (.Values.snapshots).classes "storageClasses" .Values.storageClasses }}
{{- range $index, $class := $classes }}
{{- $_ := set $owners (printf "%s[%d].labels" $path $index) $class.labels }}
{{- end }}
{{- end }}
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
{{- range $value, $given := dict "commonAnnotations" .Values.commonAnnotations "controller.podAnnotations" .Values.controller.podAnnotations "node.podAnnotations" .Values.node.podAnnotations }}
{{- range $key := list "checksum/config" "kubectl.kubernetes.io/default-container" }}
{{- if hasKey ($given | default dict) $key }}
{{ $value }} contains {{ $key }}, an annotation that the chart sets itself: leave it out
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Names and paths that must be unique in a pod. */}}
{{- define "thalassa-csi.validate.extras" -}}
{{- $lists := dict
  "controller.extraEnv" (dict "own" (include "thalassa-csi.controllerEnv" . | fromYamlArray) "more" .Values.controller.extraEnv "by" "name")
  "controller.extraVolumes" (dict "own" (include "thalassa-csi.controllerVolumes" . | fromYamlArray) "more" .Values.controller.extraVolumes "by" "name")
  "controller.extraVolumeMounts" (dict "own" (include "thalassa-csi.controllerMounts" . | fromYamlArray) "more" .Values.controller.extraVolumeMounts "by" "mountPath")
  "node.extraEnv" (dict "own" (include "thalassa-csi.nodeEnv" . | fromYamlArray) "more" .Values.node.extraEnv "by" "name")
-}}
{{- include "thalassa-csi.duplicates" $lists -}}
{{- end -}}

{{- define "thalassa-csi.validate.flags" -}}
{{- $driver := dict
  "csi-endpoint" "leave it out, the other containers use this path"
  "driver-name" "leave it out, PersistentVolumes contain the driver's name"
  "kubeconfig" "leave it out, the pods use their own ServiceAccount"
-}}
{{- $controller := dict
  "cloud-config" "set the values under cloudConfig instead"
  "http-endpoint" "set controller.httpPort instead"
  "v" "set controller.logVerbosity instead"
-}}
{{- $node := dict
  "format-nonzero-within" "set node.formatNonzeroSeconds instead"
  "http-endpoint" "set node.httpPort instead"
  "kubelet-socket" "set node.kubeletDirectory instead"
  "node-name" "leave it out, it is the name of the pod's node"
  "region" "set node.region instead"
  "registration-socket" "leave it out, the kubelet expects the socket at this path"
  "v" "set node.logVerbosity instead"
  "volume-limit" "set node.volumeLimit instead"
  "volume-limits" "set node.volumeLimits instead"
  "zone" "set node.zone instead"
-}}
{{- $owners := dict "controller" (dict "given" .Values.controller.extraArgs "owned" (merge $controller $driver)) "node" (dict "given" .Values.node.extraArgs "owned" (merge $node $driver)) -}}
{{- range $key := list "attacher" "provisioner" "resizer" "snapshotController" "snapshotter" }}
{{- $owned := dict
  "csi-address" "leave it out, the driver uses this path"
  "http-endpoint" "set controller.httpPort instead"
  "kube-api-burst" "set sidecars.kubeAPIBurst instead"
  "kube-api-qps" "set sidecars.kubeAPIQPS instead"
  "kubeconfig" "leave it out, the pods use their own ServiceAccount"
  "leader-election" "leave it out, two active sidecars would change the same objects"
  "leader-election-namespace" "leave it out, the Role permits only Leases in the namespace of the pods"
  "timeout" "set sidecars.timeout instead"
  (ternary "workers" "worker-threads" (eq $key "resizer")) "set sidecars.workers instead"
  "v" (printf "set sidecars.%s.logVerbosity instead" $key)
}}
{{- $_ := set $owners (printf "sidecars.%s" $key) (dict "given" (index $.Values.sidecars $key).extraArgs "owned" $owned) }}
{{- end }}
{{- range $path, $owner := $owners }}
{{- range $name, $advice := $owner.owned }}
{{- if hasKey ($owner.given | default dict) $name }}
{{ $path }}.extraArgs.{{ $name }} is a flag that the chart sets itself: {{ $advice }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
