package traffic

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider/controllers/service"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
)

// reaches wants new connections to come to all of the targets, and to no other, from a moment on.
func (s *scene) reaches(t *testing.T, from moment, names ...string) {
	t.Helper()
	counts := s.more(t, s.main, from.ended).Targets()
	for name := range workers() {
		if wanted := slices.Contains(names, name); wanted != (counts[name] > 0) {
			t.Errorf("%d new connections came to %s, targets are %v", counts[name], name, names)
		}
	}
}

func (s *scene) join(t *testing.T) {
	t.Helper()
	for _, name := range []string{"d", "e"} {
		s.startNode(t, name, workers()[name], plain)
	}
	for _, name := range []string{"d", "e"} {
		eventually(t, name+" is initialised", func(ctx context.Context) error { return s.initialised(ctx, name) })
	}
	s.arrives(t, "a", "b", "c", "d", "e")
	s.lateStreams = s.start(s.whole, s.webLB, stays, load.Options{Streams: streams})
}

// arrives waits until web has these targets, and wants new connections to come there.
func (s *scene) arrives(t *testing.T, names ...string) {
	t.Helper()
	s.reaches(t, s.await(t, s.webLB, s.only(names...)), names...)
}

// leave is what an autoscaler does: the node is marked, which is what moves traffic and pods away, and then it goes.
func (s *scene) leave(t *testing.T) {
	t.Helper()
	s.changeNode(t, "d", func(node *corev1.Node) {
		node.Spec.Unschedulable = true
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: cloudprovider.ToBeDeletedTaint,
			Effect: corev1.TaintEffectNoSchedule})
	})
	if err := s.api.CoreV1().Nodes().Delete(t.Context(), "d", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.arrives(t, "a", "b", "c", "e")
	if err := s.cloud.DeleteMachine(s.machines["d"]); err != nil {
		t.Fatal(err)
	}
	s.stopNode(t, "d")
}

func (s *scene) label(t *testing.T) {
	t.Helper()
	s.exclude(t, "e", true)
	s.arrives(t, "a", "b", "c")
}

// mark is what an autoscaler does long before a node goes: from then on the node gets no new connections, and those it
// has can come to their end.
func (s *scene) mark(t *testing.T) {
	t.Helper()
	s.exclude(t, "e", false)
	s.arrives(t, "a", "b", "c", "e")
	s.changeNode(t, "e", func(node *corev1.Node) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: cloudprovider.ToBeDeletedTaint,
			Effect: corev1.TaintEffectNoSchedule})
	})
	s.arrives(t, "a", "b", "c")
}

// unmark is what it does when it has changed its mind.
func (s *scene) unmark(t *testing.T) {
	t.Helper()
	s.changeNode(t, "e", func(node *corev1.Node) {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == cloudprovider.ToBeDeletedTaint
		})
	})
	s.arrives(t, "a", "b", "c", "e")
}

// limit lets web have one target only. Those that it has stay for five minutes at least, which are longer than this
// test. A node that comes back is none any more, and one that all others give way to becomes one beside them.
func (s *scene) limit(t *testing.T) {
	t.Helper()
	s.exclude(t, "e", true)
	s.arrives(t, "a", "b", "c")
	s.changeService(t, web, func(service *corev1.Service) { service.Annotations[limitAnnotation] = "1" })
	s.exclude(t, "e", false)
	s.startNodeOn(t, emulator.MachineSpec{Name: "d", Identity: s.preferred(t),
		Addresses: []netip.Addr{s.address(workers()["d"])}}, plain)
	s.arrives(t, "a", "b", "c", "d")
}

// preferred is the identity of a machine that web has for its target, whichever others there are.
func (s *scene) preferred(t *testing.T) string {
	t.Helper()
	service, err := s.api.CoreV1().Services(s.shop).Get(t.Context(), web, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		identity := fmt.Sprintf("vm-%020d", i)
		targets := cloud.Targets{Serving: []cloud.Target{{Machine: identity, Ready: true}}}
		for _, machine := range s.machines {
			targets.Serving = append(targets.Serving, cloud.Target{Machine: machine, Ready: true})
		}
		if chosen := balancer.NewCandidates(targets).Choose(string(service.UID), 1); chosen[0] == identity {
			return identity
		}
	}
	t.Fatal("none of 1000 machines is preferred")
	return ""
}
