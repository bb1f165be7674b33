//go:build e2e

package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testserver"
)

// namesResolve proves that pods resolve the names of Services: in another namespace, with the addresses of both
// families, with their ports, and with the addresses of the pods if they are headless. Pods connect by name, and learn
// at once that a name does not exist.
func namesResolve(t *testing.T, l *lab) {
	t.Helper()
	if err := l.DNSReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	namespace := l.runServers(t, "worker-1", "worker-2")
	l.createService(t, namespace, portHTTP, inCluster(corev1.ClusterIPNone), named("pods"))
	l.createService(t, namespace, portHTTP, inCluster(""))
	service, err := l.API().CoreV1().Services(namespace).Get(t.Context(), "server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	qualified := "server." + namespace + ".svc." + cluster.Domain + "."
	pods := append(l.addresses(t, namespace, "worker-1"), l.addresses(t, namespace, "worker-2")...)
	for name, want := range map[string][]string{
		"kubernetes.default":         {"10.96.0.1"},
		qualified:                    service.Spec.ClusterIPs,
		"_web._tcp." + qualified:     {"80 " + qualified},
		"pods." + namespace + ".svc": texts(pods),
	} {
		l.resolves(t, namespace, name, want)
	}
	for _, name := range []string{"nothing." + namespace, "www.example.com"} {
		l.resolvesNot(t, namespace, name)
	}
	output, err := l.exec(t, namespace, "on-worker-1", "/guest", "get", "http://server/")
	var answer testserver.Answer
	if err == nil {
		err = json.Unmarshal([]byte(output), &answer)
	}
	if err != nil || !strings.HasPrefix(answer.Host, "on-worker-") {
		t.Errorf("a pod connects to a Service by name: %q and %v", output, err)
	}
}

// inCluster changes a Service into one of both families without a load balancer, with a cluster IP or None.
func inCluster(address string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceTypeClusterIP, address
		s.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyRequireDualStack)
	}
}

func texts(addresses []netip.Addr) (all []string) {
	for _, address := range addresses {
		all = append(all, address.String())
	}
	return all
}

// resolves wants a name to stand for these addresses or servers, in any order, soon: CoreDNS learns of a Service a
// moment after it was created.
func (l *lab) resolves(t *testing.T, namespace, name string, want []string) {
	t.Helper()
	slices.Sort(want)
	eventually(t, name+" is resolved", func(context.Context) error {
		output, err := l.exec(t, namespace, "on-worker-1", "/guest", "resolve", name)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, output)
		}
		if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(output), "\n")); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}

// resolvesNot wants the answer that a name does not exist, faster than a server that does not answer is asked again.
func (l *lab) resolvesNot(t *testing.T, namespace, name string) {
	t.Helper()
	began := time.Now()
	output, err := l.exec(t, namespace, "on-worker-1", "/guest", "resolve", name)
	if took := time.Since(began); err == nil || !strings.Contains(output, "no such host") || took > answerLimit {
		t.Errorf("%s: %q and %v after %s, want that there is no such host", name, output, err, took)
	}
}
