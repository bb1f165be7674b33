//go:build e2e

package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testserver"
)

// podsReachPods proves that pods reach those on another node by the routes that the cloud controller manager made, and
// no other program.
func podsReachPods(t *testing.T, l *lab) {
	t.Helper()
	l.podsTalk(t)
	made := 0
	for _, write := range l.Cloud().Writes() {
		if !strings.Contains(write.Operation, "/v1/route-tables/") {
			continue
		}
		made++
		if write.Subject != emulator.DefaultClientID {
			t.Errorf("%s %s is by %q, who is not the cloud controller manager", write.Operation, write.Path,
				write.Subject)
		}
	}
	if made == 0 {
		t.Errorf("no route was written, only %v", operations(l.Cloud().Writes()))
	}
}

// podsTalk has pods on two nodes reach each other.
func (l *lab) podsTalk(t *testing.T) {
	t.Helper()
	l.wantRoutes(t, "control-plane", "worker-1", "worker-2")
	namespace := l.runServers(t, "worker-1", "worker-2")
	l.talk(t, namespace, "worker-1", "worker-2")
	l.talk(t, namespace, "worker-2", "worker-1")
}

func operations(writes []emulator.Write) (all []string) {
	for _, write := range writes {
		all = append(all, write.Operation)
	}
	return all
}

// talk has the server on one node ask the one on another one, in each family. It sees the address of the pod that asks:
// nothing in between encapsulates or translates.
func (l *lab) talk(t *testing.T, namespace, from, to string) {
	t.Helper()
	asker, asked := l.addresses(t, namespace, from), l.addresses(t, namespace, to)
	for i, at := range asked {
		url := "http://" + net.JoinHostPort(at.String(), fmt.Sprint(portHTTP)) + "/"
		output, err := l.exec(t, namespace, "on-"+from, "/guest", "get", url)
		var answer testserver.Answer
		if err == nil {
			err = json.Unmarshal([]byte(output), &answer)
		}
		if err != nil {
			t.Errorf("the pod on %s asks the one on %s at %s: %v, %q", from, to, at, err, output)
			continue
		}
		if got := sender(t, answer); answer.Host != "on-"+to || got != asker[i] {
			t.Errorf("the pod on %s asks the one on %s at %s: %s answers, and saw %s instead of %s", from, to, at,
				answer.Host, got, asker[i])
		}
	}
}

// addresses are those of the server on a node, IPv4 first.
func (l *lab) addresses(t *testing.T, namespace, node string) (all []netip.Addr) {
	t.Helper()
	pod, err := l.API().CoreV1().Pods(namespace).Get(t.Context(), "on-"+node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range pod.Status.PodIPs {
		all = append(all, netip.MustParseAddr(ip.IP))
	}
	if len(all) != 2 || !all[0].Is4() || !all[1].Is6() {
		t.Fatalf("pod %s has the addresses %v, want one of each family", pod.Name, all)
	}
	return all
}

// wantRoutes waits until the kernel of the VPC's router leads to the pods of these nodes, and to no others.
func (l *lab) wantRoutes(t *testing.T, nodes ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the VPC has routes to the pods of %v", nodes), func(ctx context.Context) error {
		want := map[string]string{}
		for _, name := range nodes {
			node, err := l.API().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, cidr := range node.Spec.PodCIDRs {
				want[cidr] = internal(node, netip.MustParsePrefix(cidr).Addr().Is4())
			}
		}
		got, err := l.kernelRoutes(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) != 2*len(nodes) {
			return fmt.Errorf("%d routes are wanted; -want +in the kernel:\n%s", len(want), diff)
		}
		return nil
	})
}

// internal is the address of a node in one family.
func internal(node *corev1.Node, v4 bool) string {
	for _, address := range node.Status.Addresses {
		if at, err := netip.ParseAddr(address.Address); err == nil && address.Type == corev1.NodeInternalIP &&
			at.Is4() == v4 {
			return at.String()
		}
	}
	return ""
}

// kernelRoutes are the routes to pods that the VPC's router has: gateways by destination.
func (l *lab) kernelRoutes(ctx context.Context) (map[string]string, error) {
	router, err := l.router()
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, family := range []string{"-4", "-6"} {
		output, err := exec.CommandContext(ctx, "nsenter", "--net="+router, "ip", "-json", family, "route", "show",
			"table", "all").Output()
		if err != nil {
			return nil, fmt.Errorf("reading the routes in %s: %w", router, err)
		}
		var routes []struct{ Dst, Gateway string }
		if err := json.Unmarshal(output, &routes); err != nil {
			return nil, fmt.Errorf("reading the routes in %s: %w", router, err)
		}
		for _, route := range routes {
			if to, err := netip.ParsePrefix(route.Dst); err == nil && isPods(to) {
				found[route.Dst] = route.Gateway
			}
		}
	}
	return found, nil
}

// noBalancerAddress is the error that the kernel of the VPC's router has an address of a load balancer: those are on
// its loopback interface.
func (l *lab) noBalancerAddress(ctx context.Context) error {
	router, err := l.router()
	if err != nil {
		return err
	}
	output, err := exec.CommandContext(ctx, "nsenter", "--net="+router, "ip", "-brief", "address", "show", "dev", "lo",
		"scope", "global").Output()
	if err == nil && len(output) > 0 {
		err = fmt.Errorf("it has %s", output)
	}
	return err
}

// router is the network namespace of the VPC's router.
func (l *lab) router() (path string, err error) {
	routers, err := filepath.Glob(strings.TrimSuffix(l.Client().Path(), "client") + "vpc[0-9]*")
	if err != nil || len(routers) != 1 {
		return "", errors.Join(fmt.Errorf("the routers are %v, want one", routers), err)
	}
	return routers[0], nil
}

// isPods reports whether a network is within those of all pods.
func isPods(network netip.Prefix) bool {
	for text := range strings.SplitSeq(cluster.PodCIDR, ",") {
		if netip.MustParsePrefix(text).Contains(network.Addr()) {
			return true
		}
	}
	return false
}

// nodeGone waits until a Node is deleted.
func (l *lab) nodeGone(t *testing.T, name string) {
	t.Helper()
	eventually(t, "Node "+name+" is gone", func(ctx context.Context) error {
		node, err := l.API().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, fmt.Errorf("taints %v", node.Spec.Taints))
	})
}
