package charttest

import "slices"

// CSIRefusals are values of thalassa-csi for which the chart says one sentence each, on top of the minimal ones.
func CSIRefusals() [][]string {
	return slices.Concat(csiCombinations(), csiCredentials(), csiSingleValues())
}

func csiCombinations() [][]string {
	return [][]string{
		{"fullnameOverride=9csi"}, {"nameOverride=CSI"}, {"namespaceOverride=a.b"},
		{"cloudConfig.organisation="}, {"cloudConfig.vpcIdentity="}, {"cloudConfig.cluster="},
		{"controller.serviceAccount.create=false"}, {"node.serviceAccount.create=false"},
		{"controller.serviceAccount.name=a", "node.serviceAccount.name=a"},
		{"snapshots.controller.enabled=true"},
		{"storageClasses[0].name=a", "storageClasses[1].name=a"},
		{"storageClasses[0].name=a", "storageClasses[0].default=true", "storageClasses[1].name=b",
			"storageClasses[1].default=true"},
		{"storageClasses[0].name=a", "storageClasses[0].parameters.volume-type=a"},
		{"storageClasses[0].name=a", "storageClasses[0].parameters.fstype=xfs"},
		{"networkPolicy.enabled=true", "kubernetesServiceHost=a", "kubernetesServicePort=7443"},
		{"networkPolicy.enabled=true", "cloudConfig.endpoint=https://api.example.com:8443"},
		{"serviceMonitor.enabled=true", "podMonitor.enabled=true"},
		{`commonLabels.app\.kubernetes\.io/name=a`}, {"rules.alertLabels.severity=page"},
		{"controller.podAnnotations.checksum/config=a"},
		{"controller.extraEnv[0].name=POD_NAME"}, {"controller.extraVolumes[0].name=socket"},
		{"controller.extraVolumeMounts[0].name=a", "controller.extraVolumeMounts[0].mountPath=/csi/"},
		{"node.extraEnv[0].name=NODE_NAME"},
		{"admissionPolicy.validationActions={Deny,Warn}"}, {"controller.extraArgs.v=4"},
		{"node.extraArgs.driver-name=a"}, {"sidecars.resizer.extraArgs.workers=4"},
		{"sidecars.provisioner.extraArgs.leader-election=false"},
		{"rbac=null"}, {"sidecars.attacher.image.tag=null"}, {"controller=null"},
		{`cloudConfig.additionalLabels.k8s\.thalassa\.cloud/cluster=a`},
	}
}

func csiCredentials() [][]string {
	created := []string{"credentials.existingSecret=", "credentials.create.enabled=true"}
	identity := []string{"credentials.workloadIdentity.enabled=true",
		"credentials.workloadIdentity.serviceAccountID=sa-1"}
	whole := []string{"cloudConfig.organisation=", "cloudConfig.vpcIdentity=", "cloudConfig.cluster=",
		"cloudConfig.existing.name=all"}
	const token, pem = "credentials.create.personalAccessToken=a", "caBundle.pem=-----BEGIN CERTIFICATE-----"
	return [][]string{
		{"credentials.existingSecret="}, identity, {created[1], token}, append(slices.Concat(created, identity), token),
		{created[0], identity[0]}, created,
		append(slices.Clone(created), token, "credentials.create.clientID=b", "credentials.create.clientSecret=c"),
		append(slices.Clone(created), "credentials.create.clientID=b"), {token},
		append(slices.Clone(whole), "cloudConfig.project=a"), append(slices.Clone(whole), pem),
		{pem, "caBundle.existing.name=a"}, {"cloudConfig.insecure=true", pem},
		{"caBundle.pem=PRIVATE KEY-----"}, {"caBundle.pem=text"},
	}
}

func csiSingleValues() [][]string {
	const digits = "0123456789abcdef0123456789abcdef"
	return [][]string{
		{"credentials.existingSecret=My Secret"}, {"credentials.existingSecret=" + digits},
		{"cloudConfig.endpoint=api.example.com"}, {"cloudConfig.endpoint=https://a@example.com"},
		{"cloudConfig.endpoint=https://example.com/v1"}, {"cloudConfig.endpoint=https://example.com:70000"},
		{"kubernetesServiceHost=https://a"}, {"kubernetesServicePort=0x1"},
		{"networkPolicy.apiServer.cidrs[0]=10.0.0.0"}, {"image.registry=https://a"}, {"global.imageRegistry=a/"},
		{"image.repository=https://a"}, {"image.repository=a:1"}, {"image.repository=ghcr.io/a"},
		{"image.repository=A"}, {"image.tag=a b"},
		{"sidecars.snapshotter.image.repository=a@b"}, {"sidecars.attacher.image.registry=a/"},
	}
}
