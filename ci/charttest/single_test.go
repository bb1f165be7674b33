package charttest

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

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
		wrong, right := noNetworks(), networks()
		if !tier.Full() && path != "cloudConfig.clusterCIDR" { // the others use the same template
			wrong, right = wrong[:2], right[:2]
		}
		for _, network := range wrong {
			want := path + " contains \"" + network + "\", which is not a network: "
			if got := sentences(t, refusal(t, merge(minimal(t), with(network)))); len(got) != 1 ||
				!strings.HasPrefix(got[0], want) {
				t.Errorf("%s: the chart says %q, want one sentence that begins with %q", path, got, want)
			}
		}
		for _, network := range right {
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
	got := refusal(t, minimal(t, "kind=daemonset"))
	for _, want := range []string{"kind", "DaemonSet", "Deployment"} {
		if !strings.Contains(got, want) {
			t.Errorf("error %q, want one that names both kinds", got)
		}
	}
}
