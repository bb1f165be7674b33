package charttest

import "strings"

// wrong are values that end in a pod that crashes or waits, with what the chart says about each.
func wrong() map[string][]string {
	return map[string][]string{
		"is not the name of an object: a name has at most 253": {
			"credentials.existingSecret=Secret_Token", "credentials.existingSecret=eyJhbGciOi.J9.sig",
			"metrics.tlsSecret=A",
			"serviceAccount.name=a/b", "imagePullSecrets[0].name=-a", "global.imagePullSecrets[0]=a_b",
			"scrape.ca.existingSecret=" + strings.Repeat("a", 254),
		},
		"has the form of a token: ": {
			"credentials.existingSecret=0123456789abcdef0123456789abcdef",
		},
		"cloudConfig.endpoint does not begin with https:// or http://: ": {
			"cloudConfig.endpoint=api.thalassa.cloud",
			"cloudConfig.endpoint=ftp://a",
		},
		"cloudConfig.endpoint contains a user name or a password: ": {
			"cloudConfig.endpoint=https://me:hunter2@a",
		},
		"cloudConfig.endpoint is not a URL with a scheme, a host and an optional port: ": {
			"cloudConfig.endpoint=https://a/v1",
			"cloudConfig.endpoint=https://",
			"cloudConfig.endpoint=https://a?b",
		},
		"cloudConfig.endpoint has a port above 65535: ": {
			"cloudConfig.endpoint=https://a:65536/",
		},
		", which is not a host: ": {
			"kubernetesServiceHost=https://a", "kubernetesServiceHost=a:6443", "kubernetesServiceHost=[::1]",
			"kubernetesServiceHost=1.2.3", "scrape.serverName=a/b",
		},
		", which is not a port: ": {"kubernetesServicePort=http",
			"kubernetesServicePort=65536", "kubernetesServicePort=-1"},
		", which is not an IP address: ": {"bindAddress=localhost", "bindAddress=0.0.0.0:10258",
			"bindAddress=HOST_IP"},
		", which is not a registry: ": {"image.registry=https://ghcr.io",
			"image.registry=ghcr.io/", "global.imageRegistry=docker://a"},
		"image.repository contains a scheme: ": {"image.repository=https://ghcr.io/a"},
		"image.repository contains a tag or a digest: ": {"image.repository=a/b:9", "image.repository=ghcr.io/a:9",
			"image.repository=a@sha256:0"},
		"image.repository begins with the registry ": {"image.repository=ghcr.io/a/b",
			"image.repository=quay.io:443/a", "image.repository=localhost/a"},
		", which is not a repository: ": {"image.repository=A/b", "image.repository=a//b",
			"image.repository=/a"},
		", which is not a tag: ": {"image.tag=a+b", "image.tag=v1@sha256:0"},
		"cloudConfig.clusterCIDR contains two networks of": {`cloudConfig.clusterCIDR=10.0.0.0/8\,10.1.0.0/16`,
			`cloudConfig.clusterCIDR=fd00::/8\,fd01::/16\,10.0.0.0/8`},
		", which does not fit into ": {
			"allocateNodeCIDRs.enabled=true & allocateNodeCIDRs.maskSizeIPv4=15 & " +
				"cloudConfig.clusterCIDR=10.244.0.0/16",
			`allocateNodeCIDRs.enabled=true & allocateNodeCIDRs.maskSizeIPv6=47 & cloudConfig.clusterCIDR=10.244.0.0/16\,fd00::/48`,
		},
		" is only for kind=Deployment: a DaemonSet runs one pod": {"replicas=3", "replicas=0"},
		"caBundle.pem contains a private key: ": {"caBundle.pem=-----BEGIN " +
			"CERTIFICATE----------BEGIN PRIVATE KEY-----hunter2"},
		"caBundle.pem contains no certificate: ": {"caBundle.pem=hunter2"},
	}
}

// singleValues are values that are refused on their own, as sets of --set.
func singleValues() [][]string {
	var found [][]string
	for _, sets := range wrong() {
		for _, set := range sets {
			found = append(found, strings.Split(set, " & "))
		}
	}
	return append(found, []string{"allocateNodeCIDRs.serviceClusterIPRange=foo"})
}
