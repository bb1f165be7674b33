package traffictest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// killLeader leaves work behind, which the next leader has to find and do: the other process, or a fresh one in place of the killed one.
func (s *scene) killLeader(t *testing.T) {
	t.Helper()
	before := s.awaitLeader(t, leader{})
	s.kill(t, before.pod)
	s.exclude(t, "e", false)
	s.awaitLeader(t, before)
	s.arrives(t, "a", "b", "c", "e")
	eventually(t, "both are back", s.bothReady)
}

// stopLeader ends it as kubelet does: it finishes its write and gives the lease back, and the other one goes on.
func (s *scene) stopLeader(t *testing.T) {
	t.Helper()
	before := s.awaitLeader(t, leader{})
	s.remove(t, before.pod)
	s.exclude(t, "e", true)
	s.awaitLeader(t, before)
	s.arrives(t, "a", "b", "c")
	eventually(t, "both are back", s.bothReady)
}

func (s *scene) restartBoth(t *testing.T) {
	t.Helper()
	before := s.awaitLeader(t, leader{})
	pods, err := s.managers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.remove(t, pods...)
	s.exclude(t, "e", false)
	s.awaitLeader(t, before)
	s.arrives(t, "a", "b", "c", "e")
	eventually(t, "both are back", s.bothReady)
}

func (s *scene) refuse(t *testing.T) {
	t.Helper()
	s.outage(t, fault.Effect{Kind: fault.Refuse, Status: http.StatusServiceUnavailable})
	s.exclude(t, "e", true)
	s.arrives(t, "a", "b", "c")
}

func (s *scene) hang(t *testing.T) {
	t.Helper()
	s.outage(t, fault.Effect{Kind: fault.Hang})
	s.exclude(t, "e", false)
	s.arrives(t, "a", "b", "c", "e")
}

// outage begins an outage of the API, and returns late in it.
func (s *scene) outage(t *testing.T, effect fault.Effect) {
	t.Helper()
	began := time.Now()
	s.disturb(t, fault.Rule{Until: outage, Effect: effect})
	eventually(t, "most of the outage is over", func(context.Context) error {
		if lasted := time.Since(began); lasted < late {
			return fmt.Errorf("it has lasted for %s", lasted)
		}
		return nil
	})
}

// lie shows the manager, again and again, what was there before its last write.
func (s *scene) lie(t *testing.T) {
	t.Helper()
	id := s.disturb(t, fault.Rule{Operation: "GET *", Effect: fault.Effect{Kind: fault.Stale, Delay: patience}})
	s.exclude(t, "e", true)
	s.arrives(t, "a", "b", "c")
	told := s.firedOf(id)
	eventually(t, "the manager has looked again and again", func(context.Context) error {
		if more := s.firedOf(id) - told; more < 6 {
			return fmt.Errorf("it has %d times", more)
		}
		return nil
	})
	s.arrives(t, "a", "b", "c")
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
