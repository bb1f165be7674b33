{{/*
The sidecars that run, in this order, as {"items": [...]}. key is that of its values, name that of the container, port that of its
metrics, and lease the Lease of its leader election.
*/}}
{{- define "thalassa-csi.sidecars" -}}
{{- $port := int .Values.controller.httpPort -}}
{{- $sidecars := list
  (dict "key" "provisioner" "name" "csi-provisioner" "port" (add $port 1) "lease" "csi-k8s-thalassa-cloud")
  (dict "key" "attacher" "name" "csi-attacher" "port" (add $port 2) "lease" "external-attacher-leader-csi-k8s-thalassa-cloud")
  (dict "key" "resizer" "name" "csi-resizer" "port" (add $port 3) "lease" "external-resizer-csi-k8s-thalassa-cloud")
-}}
{{- if include "thalassa-csi.snapshots" . -}}
{{- $sidecars = append $sidecars (dict "key" "snapshotter" "name" "csi-snapshotter" "port" (add $port 4) "lease" "external-snapshotter-leader-csi-k8s-thalassa-cloud") -}}
{{- end -}}
{{- if include "thalassa-csi.snapshotController" . -}}
{{- $sidecars = append $sidecars (dict "key" "snapshotController" "name" "snapshot-controller" "port" (add $port 5) "lease" "snapshot-controller-leader") -}}
{{- end -}}
{{- dict "items" $sidecars | toJson -}}
{{- end -}}

{{/* "true" if snapshots are enabled, and if the program that binds them runs here. */}}
{{- define "thalassa-csi.snapshots" -}}
{{- if (.Values.snapshots).enabled -}}true{{- end -}}
{{- end -}}
{{- define "thalassa-csi.snapshotController" -}}
{{- if and (.Values.snapshots).enabled ((.Values.snapshots).controller).enabled -}}true{{- end -}}
{{- end -}}

{{/*
The flags of a sidecar that a value may replace, as JSON. Takes root and sidecar. Without CSIVolumeGroupSnapshot=false, the programs
for snapshots wait for definitions of groups, which most clusters do not have.
*/}}
{{- define "thalassa-csi.sidecarDefaults" -}}
{{- $all := .root.Values.sidecars -}}
{{- $args := dict "kube-api-burst" $all.kubeAPIBurst "kube-api-qps" $all.kubeAPIQPS "v" (index $all .sidecar.key).logVerbosity -}}
{{- $_ := set $args (ternary "workers" "worker-threads" (eq .sidecar.key "resizer")) $all.workers -}}
{{- if ne .sidecar.key "snapshotController" -}}
{{- $_ := set $args "timeout" (printf "%ds" (int $all.timeout)) -}}
{{- end -}}
{{- if eq .sidecar.key "provisioner" -}}
{{- $_ := set $args "default-fstype" "ext4" -}}
{{- $_ := set $args "immediate-topology" true -}}
{{- $_ := set $args "strict-topology" false -}}
{{- else if eq .sidecar.key "attacher" -}}
{{- $_ := set $args "default-fstype" "ext4" -}}
{{- end -}}
{{- if has .sidecar.key (list "provisioner" "snapshotter") -}}
{{- $_ := set $args "extra-create-metadata" true -}}
{{- end -}}
{{- if has .sidecar.key (list "snapshotter" "snapshotController") -}}
{{- $_ := set $args "feature-gates" "CSIVolumeGroupSnapshot=false" -}}
{{- end -}}
{{- toJson $args -}}
{{- end -}}

{{/*
Leader election is always on. Otherwise two sidecars would be active while a node does not answer and its pod is replaced, or while
the number of pods changes. It costs up to 20 seconds when a pod is replaced, because a sidecar does not release its Lease when it ends.
*/}}
{{- define "thalassa-csi.sidecarArgs" -}}
{{- $args := include "thalassa-csi.sidecarDefaults" . | fromJson -}}
{{- range $name, $value := (index .root.Values.sidecars .sidecar.key).extraArgs -}}
{{- $_ := set $args $name $value -}}
{{- end -}}
{{- $_ := set $args "leader-election" true -}}
{{- $_ := set $args "http-endpoint" (printf ":%d" (int .sidecar.port)) -}}
{{- if ne .sidecar.key "snapshotController" -}}
{{- $_ := set $args "csi-address" "/csi/csi.sock" -}}
{{- end -}}
{{- include "thalassa-csi.flags" $args -}}
{{- end -}}

{{/* Flags as a list, sorted by name. */}}
{{- define "thalassa-csi.flags" -}}
{{- range $name, $value := . }}
- {{ printf "--%s=%s" $name (include "thalassa-csi.scalar" $value) | quote }}
{{- end -}}
{{- end -}}

{{/* The container of a sidecar. Takes root and sidecar. */}}
{{- define "thalassa-csi.sidecar" -}}
{{- $values := index .root.Values.sidecars .sidecar.key -}}
name: {{ .sidecar.name }}
image: {{ include "thalassa-csi.imageOf" (dict "root" .root "image" $values.image "tag" $values.image.tag) | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args:
  {{- include "thalassa-csi.sidecarArgs" . | trim | nindent 2 }}
{{- with include "thalassa-csi.serverEnv" .root | trim }}
env:
  {{- . | nindent 2 }}
{{- end }}
ports:
  - name: {{ include "thalassa-csi.portName" .sidecar }}
    containerPort: {{ .sidecar.port }}
    protocol: TCP
terminationMessagePolicy: FallbackToLogsOnError
{{- with $values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.controller.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if ne .sidecar.key "snapshotController" }}
volumeMounts:
  - name: socket
    mountPath: /csi
{{- end }}
{{- end -}}

{{/* Name of the port with the metrics of a sidecar; at most 15 characters. */}}
{{- define "thalassa-csi.portName" -}}
{{- ternary "snapshots" .key (eq .key "snapshotController") -}}
{{- end -}}
