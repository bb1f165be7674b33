//go:build linux

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"

	helmchart "helm.sh/helm/v3/pkg/chart"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
)

const (
	// Domain is that of the names in a cluster with DNS.
	Domain = "cluster.local"

	// dnsName is the name of the Helm release of CoreDNS and of its Deployment.
	dnsName = "coredns"
	// dnsImage is the name of its image, without the tag: that of the image that kubeadm installs.
	dnsImage = "registry.k8s.io/coredns/coredns"
)

// dnsAddress is that of the Service, the tenth of all Services, as kubeadm chooses it.
func dnsAddress() netip.Addr { return netip.AddrFrom4([4]byte{10, 96, 0, 10}) }

// dnsChart is the folder of the chart of CoreDNS.
func dnsChart(root string) string { return filepath.Join(root, "tools", "coredns", "chart") }

// BuildDNS does what Build does for DNS: it compiles CoreDNS, and makes its image.
func BuildDNS(ctx context.Context, root string, progress func(string)) error {
	executable, err := controlplane.BuildCoreDNS(ctx, root, progress)
	if err != nil {
		return err
	}
	loaded, err := chart.Load(dnsChart(root))
	if err != nil {
		return err
	}
	folder := programsOf(root).dns
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making a folder for images: %w", err)
	}
	return archiveProgram(executable, filepath.Join(folder, dnsName), dnsReference(loaded))
}

// dnsReference is the name of the image that the chart asks for.
func dnsReference(loaded *helmchart.Chart) string { return dnsImage + ":" + loaded.AppVersion() }

// dnsRelease is what is installed of the chart.
func dnsRelease() chart.Release {
	return chart.Release{Name: dnsName, Namespace: Namespace, Values: map[string]any{
		"image": dnsImage, "address": dnsAddress().String(), "domain": Domain}}
}

// installDNS installs CoreDNS, whose pod starts once its node is initialised.
func (c *Cluster) installDNS(ctx context.Context) error {
	_, err := chart.Install(ctx, c.config, dnsChart(c.options.Root), dnsRelease(), io.Discard)
	return err
}

// DNSReady waits until names are resolved. The cluster must have been started with Options.DNS, and its nodes must be
// initialised.
func (c *Cluster) DNSReady(ctx context.Context) error {
	err := limits().Until(ctx, "CoreDNS is ready", func(ctx context.Context) error {
		deployment, err := c.api.AppsV1().Deployments(Namespace).Get(ctx, dnsName, metav1.GetOptions{})
		if err == nil && deployment.Status.AvailableReplicas == 0 {
			err = fmt.Errorf("it is not available: %+v", deployment.Status.Conditions)
		}
		return err
	})
	if err == nil {
		c.say("CoreDNS resolves the names of Services and pods")
	}
	return err
}
