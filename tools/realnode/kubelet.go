//go:build linux

package realnode

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/namespace"
)

// The ports of a node's programs where they report their health, at the machine's own loopback address.
const (
	kubeletHealth = "127.0.0.1:10248"
	proxyHealth   = "0.0.0.0:10256"
)

// writeFiles writes what the programs read.
func (n *Node) writeFiles() error {
	o := n.options
	plugins, err := cniFolder(exists)
	if err != nil {
		return err
	}
	kubelet, err := kubeletConfig(o)
	if err != nil {
		return err
	}
	files := map[string][]byte{"containerd.toml": []byte(containerdConfig(o.SandboxImage, plugins)),
		"kubelet.yaml": kubelet}
	for name, source := range map[string]string{"kubelet.kubeconfig": o.Kubelet, "proxy.kubeconfig": o.Proxy,
		"clients.crt": o.ClientCA} {
		if files[name], err = os.ReadFile(source); err != nil {
			return fmt.Errorf("reading what the node is to have: %w", err)
		}
	}
	folder := filepath.Join(o.Dir, "lib/lab")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return fmt.Errorf("writing what the node is to have: %w", err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// kubeletConfig is a kubelet as it is installed by kubeadm, except for what a machine without a disk
// and an init system of its own lacks.
func kubeletConfig(o Options) ([]byte, error) {
	type object = map[string]any
	host, _, err := net.SplitHostPort(kubeletHealth)
	if err != nil {
		return nil, err
	}
	config := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"authentication": object{
			"anonymous": object{"enabled": false}, "webhook": object{"enabled": true},
			"x509": object{"clientCAFile": ownFiles + "/clients.crt"},
		},
		"authorization":            object{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + socket,
		"healthzBindAddress":       host,
		"cgroupDriver":             "cgroupfs",
		// With a shared one, every kubelet ends the pods of the others as unknown.
		"cgroupRoot": "/" + o.Cgroup, "cgroupsPerQOS": true,
		"failCgroupV1": false, "failSwapOn": false, "localStorageCapacityIsolation": false,
		"evictionHard": object{"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
		// The host's name servers are out of reach: pods have the cluster's or none.
		"resolvConf": "",
		// Images are imported and must not go because the host's disk is full.
		"imageGCHighThresholdPercent": 100,
		// A machine that is switched off becomes not ready soon.
		"nodeStatusUpdateFrequency": "4s", "nodeLeaseDurationSeconds": 20,
		// A changed Secret reaches the files of its pods with the next sync: the default is a minute.
		"syncFrequency":       "10s",
		"shutdownGracePeriod": "0s",
	}
	if len(o.Taints) > 0 {
		config["registerWithTaints"] = o.Taints
	}
	if o.DNS.IsValid() {
		config["clusterDNS"], config["clusterDomain"] = []string{o.DNS.String()}, o.Domain
	}
	return yaml.Marshal(config)
}

func (n *Node) startKubelet(ctx context.Context) error {
	flags := []string{
		"--config=" + ownFiles + "/kubelet.yaml", "--kubeconfig=" + ownFiles + "/kubelet.kubeconfig",
		"--cloud-provider=external",
		"--node-ip=" + addresses(n.options.Addresses),
	}
	p, err := n.run(ctx, "kubelet", append([]string{n.options.Agents, "kubelet"}, flags...)...)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.kubelet = p
	n.mu.Unlock()
	return n.await(ctx, "the kubelet is healthy", p, func(ctx context.Context) error {
		return n.healthy(ctx, "http://"+kubeletHealth+"/healthz")
	})
}

// startProxy does not wait: kube-proxy is healthy only once its Node has addresses.
func (n *Node) startProxy(ctx context.Context) error {
	_, err := n.run(ctx, "kube-proxy", n.options.Agents, "kube-proxy",
		"--kubeconfig="+ownFiles+"/proxy.kubeconfig", "--proxy-mode=nftables", "--cluster-cidr="+n.options.PodCIDR,
		"--healthz-bind-address="+proxyHealth,
		// These are settings of the host's kernel.
		"--conntrack-max-per-core=0", "--conntrack-min=0", "--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0",
	)
	return err
}

// healthy asks a program on the machine.
func (n *Node) healthy(ctx context.Context, url string) error {
	in, err := namespace.Open(n.options.Namespace)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: in.DialContext}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s (%w)", url, response.Status, err)
	}
	return nil
}

// addresses are a flag's value.
func addresses(of []netip.Addr) string {
	var texts []string
	for _, address := range of {
		texts = append(texts, address.String())
	}
	return strings.Join(texts, ",")
}
