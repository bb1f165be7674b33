package charttest

// Iron is what an installation on IronCore sets at least.
func Iron(more ...string) []string {
	return append([]string{"cloudConfig.organisation=", "cloudConfig.vpcIdentity=", "cloudConfig.cluster=",
		"credentials.existingSecret=", "cloud=ironcore", "ironcore.networkName=nodes",
		"ironcore.clusterName=production", "ironcore.kubeconfig.existingSecret=ironcore-kubeconfig"}, more...)
}

// inCloud is what the part for IronCore's API server sets at least.
func inCloud(more ...string) []string {
	return Iron(append([]string{"part=cloud", "ironcore.subject.name=ccm"}, more...)...)
}

// hosting is what the provider's side of a managed installation says at least.
func hosting(more ...string) []string {
	return append([]string{"profile=managed", "part=hosting", "tenant.kubeconfig.existingSecret=tenant-kubeconfig"},
		more...)
}

// tenant is what the served cluster's side says at least. It knows nothing of the cloud.
func tenant(more ...string) []string {
	return append([]string{"cloudConfig.organisation=", "cloudConfig.vpcIdentity=", "cloudConfig.cluster=",
		"credentials.existingSecret=",
		"profile=managed", "part=tenant", "tenant.subject.name=ccm"}, more...)
}
