{{- define "thalassa-ccm.tenantDirectory" -}}/etc/thalassa-ccm/tenant{{- end -}}
{{- define "thalassa-ccm.tlsDirectory" -}}/etc/thalassa-ccm/tls{{- end -}}
{{- define "thalassa-ccm.clientCADirectory" -}}/etc/thalassa-ccm/client-ca{{- end -}}
