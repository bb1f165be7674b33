package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// killLeader leaves work behind, which the next leader has to find and do: the other process, or a fresh one in place
// of the killed one.
func (s *scene) killLeader(t *testing.T) {
	t.Helper()
	s.succession(t, false, func(pod corev1.Pod) { s.kill(t, pod) })
}

// stopLeader ends it as kubelet does: it finishes its write and gives the lease back, and the other one goes on.
func (s *scene) stopLeader(t *testing.T) {
	t.Helper()
	s.succession(t, true, func(pod corev1.Pod) { s.remove(t, pod) })
}

func (s *scene) restartBoth(t *testing.T) {
	t.Helper()
	s.succession(t, false, func(corev1.Pod) {
		pods, err := s.managers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.remove(t, pods...)
	})
}

// succession passes the pod of the leader to end, and wants the next leader to do what was asked for in between.
func (s *scene) succession(t *testing.T, excluded bool, end func(pod corev1.Pod)) {
	t.Helper()
	before := s.awaitLeader(t, leader{})
	end(before.pod)
	s.exclude(t, "e", excluded)
	s.awaitLeader(t, before)
	s.awaitTraffic(t, excluded)
	eventually(t, "both are back", s.bothReady)
}

// awaitTraffic waits until traffic arrives where it should when node e is excluded, or not.
func (s *scene) awaitTraffic(t *testing.T, excluded bool) {
	t.Helper()
	nodes := []string{"a", "b", "c", "e"}
	if excluded {
		nodes = nodes[:3]
	}
	s.arrives(t, nodes...)
}

func (s *scene) refuse(t *testing.T) {
	t.Helper()
	s.outage(t, true, fault.Effect{Kind: fault.Refuse, Status: http.StatusServiceUnavailable})
}

func (s *scene) hang(t *testing.T) {
	t.Helper()
	s.outage(t, false, fault.Effect{Kind: fault.Hang})
}

// outage begins an outage of the API, and late in it asks for what can only be done afterwards.
func (s *scene) outage(t *testing.T, excluded bool, effect fault.Effect) {
	t.Helper()
	began := time.Now()
	s.disturb(t, fault.Rule{Until: outage, Effect: effect})
	eventually(t, "most of the outage is over", func(context.Context) error {
		if lasted := time.Since(began); lasted < late {
			return fmt.Errorf("it has lasted for %s", lasted)
		}
		return nil
	})
	s.exclude(t, "e", excluded)
	s.awaitTraffic(t, excluded)
}

// staleLists makes each read of the manager return the state before its last write.
func (s *scene) staleLists(t *testing.T) {
	t.Helper()
	id := s.disturb(t, fault.Rule{Operation: "GET *", Effect: fault.Effect{Kind: fault.Stale, Delay: waitTimeout}})
	s.exclude(t, "e", true)
	s.awaitTraffic(t, true)
	before := s.firedOf(id)
	eventually(t, "the manager has read the cloud several times", func(context.Context) error {
		if more := s.firedOf(id) - before; more < 6 {
			return fmt.Errorf("it has %d times", more)
		}
		return nil
	})
	s.awaitTraffic(t, true)
	s.cloud.ClearFaults(id)
}

// disturb injects a fault and waits until the manager has met it.
func (s *scene) disturb(t *testing.T, rule fault.Rule) (id string) {
	t.Helper()
	id, err := s.cloud.Inject(rule)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cloud.ClearFaults(id) })
	eventually(t, "the manager has met the fault", func(context.Context) error {
		if s.firedOf(id) == 0 {
			return errors.New("no call has")
		}
		return nil
	})
	return id
}

// firedOf is how many calls a fault has disturbed.
func (s *scene) firedOf(id string) int {
	for _, status := range s.cloud.Faults() {
		if status.Rule.ID == id {
			return status.Fired
		}
	}
	return 0
}
