{{/* Flags of the controller, sorted by name. */}}
{{- define "thalassa-csi.controllerArgs" -}}
{{- $config := include "thalassa-csi.configExisting" . | fromJson -}}
{{- $args := dict
  "cloud-config" (printf "%s/%s" (include "thalassa-csi.configDirectory" .) (ternary ($config.key | default "cloud-config.yaml") "cloud-config.yaml" (not (empty $config.name))))
  "csi-endpoint" "unix:///csi/csi.sock"
  "http-endpoint" (printf ":%d" (int .Values.controller.httpPort))
  "v" .Values.controller.logVerbosity
-}}
{{- include "thalassa-csi.flags" (merge $args (.Values.controller.extraArgs | default dict)) -}}
{{- end -}}

{{/* Events about credentials are created on the pod. */}}
{{- define "thalassa-csi.controllerEnv" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.namespace
- name: POD_UID
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: metadata.uid
{{- include "thalassa-csi.serverEnv" . }}
{{- end -}}

{{/*
Grace period of the pod, in seconds. The driver waits for a call to the cloud for at most the timeout of one call, and needs up to 15
seconds more to exit.
*/}}
{{- define "thalassa-csi.gracePeriod" -}}
{{- $call := ((.Values.cloudConfig).api).callTimeout | default 30 -}}
{{- max (int .Values.controller.terminationGracePeriodSeconds) (add (int $call) 15) -}}
{{- end -}}

{{- define "thalassa-csi.controllerAffinity" -}}
{{- $affinity := include "thalassa-csi.withoutNull" .Values.controller.affinity | fromJson -}}
{{- if not (hasKey $affinity "podAntiAffinity") -}}
{{- $_ := set $affinity "podAntiAffinity" (include "thalassa-csi.antiAffinity" . | fromYaml) -}}
{{- end -}}
{{- $affinity | toJson -}}
{{- end -}}

{{- define "thalassa-csi.antiAffinity" -}}
preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "thalassa-csi.componentLabels" (dict "root" . "component" "controller") | nindent 10 }}
{{- end -}}

{{/* Constraints as {"items": [...]}. A constraint without a selector applies to the controller's pods. */}}
{{- define "thalassa-csi.spread" -}}
{{- $constraints := list -}}
{{- $selector := dict "labelSelector" (dict "matchLabels" (include "thalassa-csi.componentLabels" (dict "root" . "component" "controller") | fromYaml)) -}}
{{- if kindIs "invalid" .Values.controller.topologySpreadConstraints -}}
{{- $zones := dict "maxSkew" 1 "topologyKey" "topology.kubernetes.io/zone" "whenUnsatisfiable" "ScheduleAnyway" -}}
{{- $constraints = append $constraints (merge $zones $selector) -}}
{{- else -}}
{{- range .Values.controller.topologySpreadConstraints -}}
{{- $constraints = append $constraints (ternary . (merge (deepCopy .) $selector) (hasKey . "labelSelector")) -}}
{{- end -}}
{{- end -}}
{{- dict "items" $constraints | toJson -}}
{{- end -}}

{{/* Volumes of the controller's pod. Files with secrets belong to the group of the pod, and other groups cannot read them. */}}
{{- define "thalassa-csi.controllerVolumes" -}}
- name: socket
  emptyDir: {}
{{- $config := include "thalassa-csi.configExisting" . | fromJson -}}
{{- if $config.name }}
{{- include "thalassa-csi.objectVolume" (merge (dict "volume" "config" "otherwise" "Secret") $config) }}
{{- else }}
- name: config
  configMap:
    name: {{ include "thalassa-csi.componentName" (dict "root" . "component" "controller") | quote }}
{{- end }}
{{- if (include "thalassa-csi.workloadIdentity" . | fromJson).enabled }}
{{- include "thalassa-csi.tokenVolume" . }}
{{- else }}
{{- include "thalassa-csi.objectVolume" (dict "volume" "credentials" "kind" "Secret" "name" (include "thalassa-csi.credentialsSecret" .)) }}
{{- end }}
{{- include "thalassa-csi.objectVolume" (merge (dict "volume" "ca" "otherwise" "ConfigMap") (include "thalassa-csi.caExisting" . | fromJson)) }}
{{- end -}}

{{/* Directories, not subPaths: files of a subPath are not updated when the Secret changes. */}}
{{- define "thalassa-csi.controllerMounts" -}}
- name: socket
  mountPath: /csi
{{- $directories := dict "config" (include "thalassa-csi.configDirectory" .) -}}
{{- if (include "thalassa-csi.workloadIdentity" . | fromJson).enabled -}}
{{- $_ := set $directories "token" (include "thalassa-csi.tokenDirectory" .) -}}
{{- else if include "thalassa-csi.credentialsSecret" . -}}
{{- $_ := set $directories "credentials" (include "thalassa-csi.credentialsDirectory" .) -}}
{{- end -}}
{{- if (include "thalassa-csi.caExisting" . | fromJson).name -}}
{{- $_ := set $directories "ca" (include "thalassa-csi.caDirectory" .) -}}
{{- end -}}
{{- range $name, $directory := $directories }}
- name: {{ $name }}
  mountPath: {{ $directory }}
  readOnly: true
{{- end }}
{{- end -}}
