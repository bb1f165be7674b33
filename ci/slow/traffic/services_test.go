package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// nextNodePort is one that Kubernetes allocates only when it is asked for.
const nextNodePort = 30050

// changeNodePort gives the port that changes another node port. The cloud is held until a node answers on it: what is
// proven is what the manager does, and not which of two watches is the faster one.
func (s *scene) changeNodePort(t *testing.T) {
	t.Helper()
	s.more(t, s.side, time.Time{})
	release := s.hold(t)
	began := time.Now()
	s.changeService(t, web, func(service *corev1.Service) { service.Spec.Ports[1].NodePort = nextNodePort })
	dial := load.TCP(netip.AddrPortFrom(s.address(workers()["a"]), nextNodePort).String())
	eventually(t, "a node answers on the new node port", func(ctx context.Context) error {
		conn, err := dial(ctx)
		if err != nil {
			return err
		}
		conn.Close()
		return s.hasFailed(s.side)
	})
	release()
	changed := s.await(t, s.webLB, func(lb traffic.LoadBalancer) error { return leads(lb, changes, nextNodePort) })
	// The targets with the new node port are new ones, and those get no connections until they have answered a health
	// check.
	eventually(t, "the new targets are in use", func(context.Context) error {
		return s.allHealthy(t, s.webLB, "a", "b", "c")
	})
	inUse := time.Now()
	t.Logf("the new targets were in use %s after the cloud had them", inUse.Sub(changed.ended))
	s.more(t, s.side, inUse)
	s.refusedWithin(t, period{began, inUse})
	for _, gap := range gaps(s.recorder.since(s.webLB, began), stays, changes) {
		t.Error(gap)
	}
}

// leads wants a port to have targets on a node port, and on no other.
func leads(lb traffic.LoadBalancer, port, nodePort uint16) error {
	l, _ := listener(lb, port)
	for _, target := range l.Group.Targets {
		if target.Address.Port() != nodePort {
			return fmt.Errorf("port %d leads to %s", port, target.Address)
		}
	}
	if len(l.Group.Targets) == 0 {
		return fmt.Errorf("port %d leads nowhere", port)
	}
	return nil
}

// refusedWithin wants connections to the port that changes to have failed in a period only. What failed before, with a
// target that left in an earlier step, is excused as it is for the port that stays.
func (s *scene) refusedWithin(t *testing.T, allowed period) {
	t.Helper()
	failed := s.side.Report().Failures()
	inside := slices.DeleteFunc(slices.Clone(failed), func(a load.Attempt) bool {
		return !allowed.meets(a.Began, a.Ended)
	})
	outside := slices.DeleteFunc(failed, func(a load.Attempt) bool { return allowed.meets(a.Began, a.Ended) })
	for _, f := range unexplained(outside, removals(s.recorder.since(s.webLB, s.began), changes, s.names)) {
		t.Errorf("a connection to the port that changes failed, outside of %s to %s: %v", allowed.from.Format(clock),
			allowed.to.Format(clock), f)
	}
	t.Logf("%d connections to the port that changes failed within %s, until the cloud used the new targets",
		len(inside), allowed.to.Sub(allowed.from))
}

// hasFailed wants the load to have met refusals: a check that has never seen one proves nothing.
func (*scene) hasFailed(l *load.Load) error {
	if len(l.Report().Failures()) == 0 {
		return errors.New("no connection has failed, although nothing listens where the cloud sends them")
	}
	return nil
}

// hold makes writes to target groups wait until release.
func (s *scene) hold(t *testing.T) (release func()) {
	t.Helper()
	id, err := s.cloud.Inject(fault.Rule{
		Operation: "P* /v1/loadbalancer-target-groups*", Effect: fault.Effect{Kind: fault.Latency, Delay: waitTimeout},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() { s.cloud.ClearFaults(id) }
}

// changePorts replaces a port by another one, whose very first connections must succeed.
func (s *scene) changePorts(t *testing.T) {
	t.Helper()
	s.side.Stop()
	s.changeService(t, web, func(service *corev1.Service) { service.Spec.Ports[1] = servicePort(comes) })
	published := s.await(t, s.webLB, func(lb traffic.LoadBalancer) error {
		if _, listens := listener(lb, comes); !listens {
			return fmt.Errorf("there is no port %d", comes)
		}
		return nil
	})
	// Until the first health checks have succeeded, no target of a new port is in use, and connections are reset.
	eventually(t, "the targets of the new port are in use", func(context.Context) error {
		return s.allHealthy(t, s.webLB, "a", "b", "c")
	})
	fresh := s.start(t, s.webLB, comes, load.Options{Pace: pace})
	s.more(t, fresh, published.ended)
	s.await(t, s.webLB, func(lb traffic.LoadBalancer) error {
		if _, listens := listener(lb, changes); listens {
			return fmt.Errorf("there still is port %d", changes)
		}
		return s.only("a", "b", "c")(lb)
	})
	fresh.Stop()
	if failed := fresh.Report().Failures(); len(failed) > 0 {
		t.Errorf("connections to the new port failed: %s", fresh.Report())
	}
}

func (s *scene) changePolicy(t *testing.T) {
	t.Helper()
	s.changeService(t, web, func(service *corev1.Service) {
		service.Annotations = map[string]string{policyAnnotation: string(traffic.Random)}
	})
	m := s.await(t, s.webLB, func(lb traffic.LoadBalancer) error {
		for _, l := range lb.Listeners {
			if l.Group.Policy != traffic.Random {
				return fmt.Errorf("the policy of port %d is %s", l.Port, l.Group.Policy)
			}
		}
		return nil
	})
	s.reaches(t, m, "a", "b", "c")
}

// toLocal holds the cloud until the nodes answer health checks, see changeNodePort.
func (s *scene) toLocal(t *testing.T) {
	t.Helper()
	release := s.hold(t)
	service := s.changeService(t, web, func(service *corev1.Service) {
		service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	})
	for _, name := range []string{"a", "b", "c"} {
		at := netip.AddrPortFrom(s.address(workers()[name]), uint16(service.Spec.HealthCheckNodePort))
		eventually(t, name+" answers health checks", func(ctx context.Context) error {
			return answers(ctx, "http://"+at.String()+"/healthz")
		})
	}
	release()
	m := s.await(t, s.webLB, func(lb traffic.LoadBalancer) error {
		return checks(lb, uint16(service.Spec.HealthCheckNodePort), true)
	})
	s.reaches(t, m, "a", "b", "c")
}

// checks wants all target groups to be checked on a port, or none.
func checks(lb traffic.LoadBalancer, port uint16, yes bool) error {
	for _, l := range lb.Listeners {
		if health := l.Group.Health; yes != (health != nil && health.Port == port) {
			return fmt.Errorf("the health check of port %d is %+v", l.Port, health)
		}
	}
	return nil
}

func (s *scene) toCluster(t *testing.T) {
	t.Helper()
	var before uint16
	s.changeService(t, web, func(service *corev1.Service) {
		before = uint16(service.Spec.HealthCheckNodePort)
		service.Spec.ExternalTrafficPolicy, service.Spec.HealthCheckNodePort =
			corev1.ServiceExternalTrafficPolicyCluster, 0
	})
	m := s.await(t, s.webLB, func(lb traffic.LoadBalancer) error { return checks(lb, before, false) })
	s.reaches(t, m, "a", "b", "c")
}

// podsOnly checks all moments: a Service whose policy is Local never had another target than the nodes with its pods,
// whatever nodes there were.
func (s *scene) podsOnly(t *testing.T) {
	t.Helper()
	for _, m := range s.recorder.since(s.localLB, s.began) {
		if err := s.only("a", "b", "c")(*m.serves); err != nil {
			t.Errorf("at %s: %v", m.ended.Format(clock), err)
		}
	}
}

// podsMove starts a pod on a node that had none, which makes it a target.
func (s *scene) podsMove(t *testing.T) {
	t.Helper()
	s.changeNode(t, "e", func(node *corev1.Node) { node.Labels[podsLabel] = "" })
	m := s.await(t, s.localLB, s.only("a", "b", "c", "e"))
	eventually(t, "connections come to the node with the new pod", func(context.Context) error {
		if counts := s.beside.Report().Since(m.ended).Targets(); counts["e"] == 0 {
			return fmt.Errorf("by target: %v", counts)
		}
		return nil
	})
}
