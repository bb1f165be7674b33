package charttest

import (
	"slices"
	"strings"
	"testing"
)

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

// noNetworks are texts that no network is written like.
func noNetworks() []string {
	return []string{"foo", "10.244.0.0", "10.244.0.0/", "10.244.0.0/99", "10.244.0.0/33", "10.244.0.0/016",
		"10.244.0/16", "10.244.0.0./16", "10.244.0.256/16",
		"010.0.0.0/8", "10.0.0.0/8/8", "fd00:244/48", "fd00::1::/48", "fd00::/129", "fd00:::/48",
		"1:2:3:4:5:6:7:8:9/64", "1:2:3:4::5:6:7:8/64", "fd00::g/64",
		"https://10.0.0.0/8", "/8"}
}

// networks are texts that networks are written like.
func networks() []string {
	return []string{"10.244.0.0/16", "0.0.0.0/0", "255.255.255.255/32", "10.1.2.3/8", "fd00:244::/48", "::/0",
		"::1/128", "1:2:3:4:5:6:7:8/64", "1:2:3:4:5:6:7::/112",
		"FD00::AbC/64", "1::8/64"}
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

// TestWrongValuesAreRefused: in a sentence that names the value, and shows nothing that may be secret.
func TestWrongValuesAreRefused(t *testing.T) {
	for want, lines := range wrong() {
		for _, line := range lines {
			sets := strings.Split(line, " & ")
			message := refusal(t, minimal(t, sets...))
			got := sentences(t, message)
			if len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("%s: the chart says %q, want one sentence with %q", line, got, want)
			}
			if path, _, _ := strings.Cut(strings.Replace(sets[0], "allocateNodeCIDRs.enabled", "allocateNodeCIDRs.mask",
				1), "="); !strings.HasPrefix(got[0], strings.TrimSuffix(path, ".name")) {
				t.Errorf("%s: the sentence does not begin with the value: %q", line, got)
			}
			for _, secret := range []string{"hunter2", "Secret_Token", "eyJhbGciOi", "0123456789abcdef"} {
				if strings.Contains(message, secret) {
					t.Errorf("%s: the error shows the secret: %s", line, message)
				}
			}
		}
	}
}

// TestNetworksAreChecked wherever one is given, in lists too.
func TestNetworksAreChecked(t *testing.T) {
	places := map[string]func(network string) map[string]any{
		"allocateNodeCIDRs.serviceClusterIPRange": func(n string) map[string]any {
			return nest("allocateNodeCIDRs.serviceClusterIPRange", n)
		},
		"cloudConfig.clusterCIDR": func(n string) map[string]any {
			return nest("cloudConfig.clusterCIDR", n)
		},
		"networkPolicy.apiServer.cidrs": func(n string) map[string]any {
			return nest("networkPolicy.apiServer.cidrs", []any{"10.0.0.0/8", n})
		},
		"networkPolicy.cloudAPI.cidrs": func(n string) map[string]any {
			return nest("networkPolicy.cloudAPI.cidrs", []any{n, "fd00::/8"})
		},
	}
	for path, with := range places {
		for _, network := range noNetworks() {
			want := path + " contains \"" + network + "\", which is not a network: "
			if got := sentences(t, refusal(t, merge(minimal(t), with(network)))); len(got) != 1 ||
				!strings.HasPrefix(got[0], want) {
				t.Errorf("%s: the chart says %q, want one sentence that begins with %q", path, got, want)
			}
		}
		for _, network := range networks() {
			objects(t, merge(minimal(t), with(network)))
		}
	}
	objects(t, merge(minimal(t), nest("allocateNodeCIDRs.serviceClusterIPRange", "10.96.0.0/12, fd00:96::/112")))
}

// TestRightValuesAreAccepted is about values that are unusual.
func TestRightValuesAreAccepted(t *testing.T) {
	for _, line := range []string{
		"credentials.existingSecret=a.b-c", "credentials.existingSecret=0a", "bindAddress=::", "bindAddress=$(HOST_IP)",
		"bindAddress=127.0.0.1",
		"kubernetesServiceHost=fd00::1", "kubernetesServiceHost=10.0.0.1", "kubernetesServiceHost=API.example.com.",
		"kubernetesServiceHost=localhost", "kubernetesServicePort=6443",
		"cloudConfig.endpoint=HTTP://[::1]:8080/", "cloudConfig.endpoint=https://api.example.com",
		"image.registry=registry.example.com:5000/path",
		"image.registry=harbor.example.com & image.repository=ghcr.io/thalassa-cloud/a",
		"image.registry= & image.repository=ghcr.io:443/a/b", "image.repository=a__b/c-d.e",
		"image.tag=v1.0_2-a", "kind=Deployment & replicas=0", "kind=Deployment & replicas=5", "replicas=2",
		"allocateNodeCIDRs.enabled=true & allocateNodeCIDRs.maskSizeIPv4=16 & cloudConfig.clusterCIDR=10.244.0.0/16",
		"allocateNodeCIDRs.enabled=true & allocateNodeCIDRs.maskSizeIPv4=1 & cloudConfig.clusterCIDR=fd00::/48",
	} {
		objects(t, minimal(t, strings.Split(line, " & ")...))
	}
}

// TestKindsAreNamed: both, whatever else was written.
func TestKindsAreNamed(t *testing.T) {
	for engine, render := range engines(t) {
		_, _, err := render(chartDir(t), release(minimal(t, "kind=daemonset")))
		if err == nil || !strings.Contains(err.Error(), "kind") ||
			slices.ContainsFunc([]string{"DaemonSet", "Deployment"}, func(kind string) bool {
				return !strings.Contains(err.Error(), kind)
			}) {
			t.Errorf("%s: error %v, want one that names both kinds", engine, err)
		}
	}
}
