{{/* Flags of the node plug-in, sorted by name. */}}
{{- define "thalassa-csi.nodeArgs" -}}
{{- $node := .Values.node -}}
{{- $driver := include "thalassa-csi.driverName" . -}}
{{- $args := dict
  "csi-endpoint" "unix:///csi/csi.sock"
  "format-nonzero-within" (printf "%ds" (int $node.formatNonzeroSeconds))
  "http-endpoint" (printf ":%d" (int $node.httpPort))
  "kubelet-socket" (printf "%s/plugins/%s/csi.sock" $node.kubeletDirectory $driver)
  "node-name" "$(NODE_NAME)"
  "registration-socket" (printf "/registration/%s-reg.sock" $driver)
  "v" $node.logVerbosity
  "volume-limit" $node.volumeLimit
-}}
{{- with include "thalassa-csi.volumeLimits" . -}}
{{- $_ := set $args "volume-limits" . -}}
{{- end -}}
{{- with $node.region -}}
{{- $_ := set $args "region" . -}}
{{- end -}}
{{- with $node.zone -}}
{{- $_ := set $args "zone" . -}}
{{- end -}}
{{- include "thalassa-csi.flags" (merge $args ($node.extraArgs | default dict)) -}}
{{- end -}}

{{/* Limits by machine type, as the flag has them. */}}
{{- define "thalassa-csi.volumeLimits" -}}
{{- $limits := list -}}
{{- range $type, $limit := .Values.node.volumeLimits -}}
{{- if not (kindIs "invalid" $limit) -}}
{{- $limits = append $limits (printf "%s=%d" $type (int $limit)) -}}
{{- end -}}
{{- end -}}
{{- join "," $limits -}}
{{- end -}}

{{- define "thalassa-csi.nodeEnv" -}}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: spec.nodeName
{{- include "thalassa-csi.serverEnv" . }}
{{- end -}}

{{- define "thalassa-csi.nodeAffinity" -}}
{{- include "thalassa-csi.withoutNull" .Values.node.affinity -}}
{{- end -}}
