{{/* Number of all nodes in .nodes, and of those whose labels match the pods, as {"all", "matching"}. */}}
{{- define "thalassa-ccm.nodes" -}}
{{- $all := 0 -}}
{{- $matching := 0 -}}
{{- $affinity := include "thalassa-ccm.affinity" .root | fromJson -}}
{{- $required := ($affinity.nodeAffinity).requiredDuringSchedulingIgnoredDuringExecution -}}
{{- range .nodes -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $fits := true -}}
{{- range $key, $value := $.root.Values.nodeSelector -}}
{{- if not (and (hasKey $labels $key) (eq (get $labels $key) $value)) -}}{{- $fits = false -}}{{- end -}}
{{- end -}}
{{- if and $required (not (include "thalassa-ccm.anyTerm" (dict "terms" $required.nodeSelectorTerms "labels" $labels "name" .metadata.name))) -}}
{{- $fits = false -}}
{{- end -}}
{{- $all = add1 $all -}}
{{- if $fits -}}{{- $matching = add1 $matching -}}{{- end -}}
{{- end -}}
{{- dict "all" $all "matching" $matching | toJson -}}
{{- end -}}

{{/* "true" if one term of a node selector matches. A term without expressions matches no node. */}}
{{- define "thalassa-ccm.anyTerm" -}}
{{- $found := false -}}
{{- range .terms -}}
{{- $fits := or .matchExpressions .matchFields | empty | not -}}
{{- range .matchExpressions -}}
{{- if not (include "thalassa-ccm.expression" (merge (dict "labels" $.labels) .)) -}}{{- $fits = false -}}{{- end -}}
{{- end -}}
{{- range .matchFields -}}
{{- if not (include "thalassa-ccm.expression" (merge (dict "labels" (dict "metadata.name" $.name)) .)) -}}{{- $fits = false -}}{{- end -}}
{{- end -}}
{{- if $fits -}}{{- $found = true -}}{{- end -}}
{{- end -}}
{{- if $found -}}true{{- end -}}
{{- end -}}

{{/* "true" if the labels match a requirement with key, operator and values. */}}
{{- define "thalassa-ccm.expression" -}}
{{- $there := hasKey .labels .key -}}
{{- $value := get .labels .key -}}
{{- $listed := and $there (has $value (.values | default list)) -}}
{{- $first := int64 (first (.values | default (list 0))) -}}
{{- $fits := false -}}
{{- if eq .operator "In" -}}{{- $fits = $listed -}}
{{- else if eq .operator "NotIn" -}}{{- $fits = not $listed -}}
{{- else if eq .operator "Exists" -}}{{- $fits = $there -}}
{{- else if eq .operator "DoesNotExist" -}}{{- $fits = not $there -}}
{{- else if eq .operator "Gt" -}}{{- $fits = and $there (gt (int64 $value) $first) -}}
{{- else if eq .operator "Lt" -}}{{- $fits = and $there (lt (int64 $value) $first) -}}
{{- end -}}
{{- if $fits -}}true{{- end -}}
{{- end -}}
