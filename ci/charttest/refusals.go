package charttest

import "slices"

// Refusals are values of thalassa-ccm for which the chart says one sentence each, on top of the minimal ones.
func Refusals() [][]string {
	return slices.Concat(combinations(), ironRefusals(), singleValues())
}

// combinations are refused because of another value, or because a value is missing.
func combinations() [][]string {
	created := []string{"credentials.existingSecret=", "credentials.create.enabled=true"}
	identity := []string{"credentials.workloadIdentity.enabled=true",
		"credentials.workloadIdentity.serviceAccountID=sa-1"}
	whole := []string{"cloudConfig.organisation=", "cloudConfig.vpcIdentity=", "cloudConfig.cluster=",
		"cloudConfig.existing.name=all"}
	const pem = "caBundle.pem=-----BEGIN CERTIFICATE-----"
	return [][]string{
		{"fullnameOverride=9ccm"}, {"nameOverride=CCM"}, {"namespaceOverride=a.b"}, {"dnsPolicy=None"},
		{"podDisruptionBudget.minAvailable=1", "podDisruptionBudget.maxUnavailable=1"},
		{"podDisruptionBudget.minAvailable=2"},
		{"profile=managed"}, {"part=tenant"}, hosting("kind=DaemonSet"), {"networkPolicy.enabled=true"},
		hosting("tenant.kubeconfig.existingSecret="), tenant("tenant.subject.name="),
		tenant("tenant.subject.kind=ServiceAccount"), tenant("tenant.subject.namespace=a"),
		{"tenant.kubeconfig.existingSecret=a"}, {"tenant.subject.name=a"}, hosting("kubernetesServiceHost=a"),
		append(whole, "cloudConfig.project=a"), {"cloudConfig.organisation="}, {"cloudConfig.vpcIdentity="},
		{"cloudConfig.cluster="},
		{"cloudConfig.routes.enabled=true"}, {"cloudConfig.routes.exclusive=true"}, {"allocateNodeCIDRs.enabled=true"},
		{"cloudConfig.loadBalancer.drift=false"}, {"cloudConfig.loadBalancer.onlyClass=true"},
		{"cloudConfig.loadBalancer.removeOrphans=true", "cloudConfig.loadBalancer.driftPeriod=0"},
		{"cloudConfig.loadBalancer.drift=report", "cloudConfig.loadBalancer.driftPeriod=0"},
		{"credentials.existingSecret="}, identity, append(created[1:], "credentials.create.personalAccessToken=a"),
		append(append(created, identity...), "credentials.create.personalAccessToken=a"),
		append(created[:1:1], identity[0]), created,
		append(created, "credentials.create.personalAccessToken=a", "credentials.create.clientID=b",
			"credentials.create.clientSecret=c"),
		append(created, "credentials.create.clientID=b"), {"credentials.create.personalAccessToken=a"},
		{pem, "caBundle.existing.name=a"}, append(whole, pem), {"cloudConfig.insecure=true", pem},
		{"serviceAccount.create=false"},
		{"serviceMonitor.enabled=true", "podMonitor.enabled=true", "scrape.token.existingSecret=a"},
		{"scrape.token.existingSecret=a", "scrape.clientCertificate.existingSecret=b"},
		hosting("serviceMonitor.enabled=true"), {"podMonitor.enabled=true"}, hosting("scrape.token.existingSecret=a"),
		hosting("serviceMonitor.enabled=true", "scrape.clientCertificate.existingSecret=a"),
		{"metrics.readers[0].kind=ServiceAccount", "metrics.readers[0].name=a"},
		{"metrics.readers[0].kind=User", "metrics.readers[0].name=a", "metrics.readers[0].namespace=b"},
		{"rules.alertLabels.severity=page"},
		{"kind=Deployment", "updateStrategy.type=RollingUpdate"}, {"updateStrategy.rollingUpdate.maxSurge=1"},
		{"hostNetwork=false", "networkPolicy.enabled=true", "kubernetesServiceHost=a", "kubernetesServicePort=7443"},
		{"hostNetwork=false", "networkPolicy.enabled=true", "cloudConfig.endpoint=https://api.example.com:8443"},
		{"extraEnv[0].name=POD_NAME"}, {"extraVolumeMounts[0].name=a",
			"extraVolumeMounts[0].mountPath=/etc/thalassa-ccm/credentials/"},
		{"extraVolumes[0].name=a", "extraVolumes[1].name=a"}, {"extraContainers[0].name=cloud-controller-manager",
			"extraContainers[0].image=a"},
		{"commonLabels.k8s-app=a"}, {"podAnnotations.checksum/config=a"},
		{"admissionPolicy.validationActions={Deny,Warn}"}, {"extraArgs.v=4"},
		{"rbac=null"}, {"image.pullPolicy=null"}, {`cloudConfig.additionalLabels.k8s\.thalassa\.cloud/cluster=a`},
	}
}

// ironRefusals are combinations that are refused with cloud ironcore, or because of it.
func ironRefusals() [][]string {
	whole := []string{"ironcore.networkName=", "ironcore.clusterName=", "cloudConfig.existing.name=all"}
	const noSecret = "ironcore.kubeconfig.existingSecret="
	return [][]string{
		{"cloud=null"}, {"part=cloud"}, {"ironcore.networkName=a"}, Iron("cloudConfig.organisation=a"),
		Iron("credentials.existingSecret=a"), Iron("caBundle.existing.name=a"),
		Iron("ironcore.networkName="), Iron("ironcore.clusterName="), Iron(noSecret),
		Iron("ironcore.kubeconfig.content=current-context"), Iron(noSecret, "ironcore.kubeconfig.content=hunter2"),
		Iron(append(whole, "ironcore.namespace=a")...), Iron(append(whole, "advanced.api.burst=7")...),
		Iron("cloudConfig.routes.enabled=true"), Iron(append(whole, "cloudConfig.routes.enabled=true")...),
		inCloud("ironcore.subject.name="), inCloud("ironcore.subject.kind=ServiceAccount"),
		inCloud("ironcore.subject.namespace=a"), Iron("cloudConfig.loadBalancer.creationPollTimeout=0"),
		Iron("ironcore.kubeconfig.existingSecret=A"),
	}
}
