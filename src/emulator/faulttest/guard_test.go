package faulttest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// mover is a small system under test that gives the only target group other machines, and its listener another port.
type mover struct {
	shop
	machine, port string
	// emptiesFirst and closesFirst are bugs that the end does not show.
	emptiesFirst, closesFirst bool
}

// moving begins with machine a and port 80, and ends with machine b and port 81.
func moving(emptiesFirst, closesFirst bool, always func(was, is emulator.State) error) Scenario {
	return Scenario{
		Name: "moving", Cloud: emulator.Config{Seed: emulator.DefaultSeed()},
		Middleware: openapitest.Sampled, Always: always,
		Foreign: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			for _, name := range []string{"a", "b"} {
				if _, err := cloud.AddMachine(emulator.MachineSpec{Name: name,
					Identity: "vm-0000000000000000000" + name}); err != nil {
					t.Fatal(err)
				}
			}
		},
		Begin: func(t *testing.T, cloud *emulator.Emulator) Start {
			t.Helper()
			begin := mover{shop: shop{network: cloud.Transport()}, machine: "a", port: "80"}
			for _, path := range []string{groups, balancers} {
				if err := begin.create(t.Context(), path, "shop"); err != nil {
					t.Fatal(err)
				}
			}
			if err := begin.work(t.Context()); err != nil {
				t.Fatal(err)
			}
			return func(network http.RoundTripper) Work {
				return (&mover{shop: shop{network: network}, machine: "b", port: "81", emptiesFirst: emptiesFirst,
					closesFirst: closesFirst}).work
			}
		},
	}
}

// work is right to be done again: it looks first.
func (m *mover) work(ctx context.Context) error {
	group, err := m.list(ctx, groups)
	if err != nil {
		return err
	}
	var has struct {
		Attachments []struct{ VirtualMachineInstance thing } `json:"loadbalancerTargetGroupAttachments"`
	}
	if err := m.call(ctx, http.MethodGet, groups+"/"+group[0].Identity, nil, &has); err != nil {
		return err
	}
	if len(has.Attachments) == 0 || has.Attachments[0].VirtualMachineInstance.Name != m.machine {
		if err := m.fill(ctx, groups+"/"+group[0].Identity+"/attachments"); err != nil {
			return err
		}
	}
	return m.open(ctx, group[0].Identity)
}

func (m *mover) fill(ctx context.Context, path string) error {
	if m.emptiesFirst {
		if err := m.call(ctx, http.MethodPost, path, map[string]any{"attachments": []any{}}, nil); err != nil {
			return err
		}
	}
	target := map[string]string{"serverIdentity": "vm-0000000000000000000" + m.machine}
	return m.call(ctx, http.MethodPost, path, map[string]any{"attachments": []any{target}}, nil)
}

// open makes the listener that there is lead to the group, on the port.
func (m *mover) open(ctx context.Context, group string) error {
	const path = balancers + "/shop/listeners"
	var listeners []struct {
		Identity string
		Port     int
	}
	if err := m.call(ctx, http.MethodGet, path, nil, &listeners); err != nil {
		return err
	}
	body := map[string]any{"name": "web", "port": map[string]int{"80": 80, "81": 81}[m.port], "protocol": "tcp",
		"targetGroup": group}
	switch {
	case len(listeners) == 0:
		return m.call(ctx, http.MethodPost, path, body, nil)
	case fmt.Sprint(listeners[0].Port) == m.port:
		return nil
	case m.closesFirst:
		if err := m.call(ctx, http.MethodDelete, path+"/"+listeners[0].Identity, nil, nil); err != nil {
			return err
		}
		return m.call(ctx, http.MethodPost, path, body, nil)
	}
	return m.call(ctx, http.MethodPut, path+"/"+listeners[0].Identity, body, nil)
}

// neverBare requires that target groups with machines keep some, and load balancers with listeners, too.
func neverBare(was, is emulator.State) error {
	for _, group := range is.TargetGroups {
		if slices.ContainsFunc(was.TargetGroups, func(g emulator.TargetGroupState) bool {
			return g.Identity == group.Identity && len(g.Machines) > 0 && len(group.Machines) == 0
		}) {
			return fmt.Errorf("target group %s lost all its machines", group.Name)
		}
	}
	for i, lb := range is.LoadBalancers {
		if len(was.LoadBalancers[i].Listeners) > len(lb.Listeners) {
			return fmt.Errorf("load balancer %s lost a listener", lb.Name)
		}
	}
	return nil
}

// TestWhatMustNeverBe: between its calls a system may do harm that the end does not show.
func TestWhatMustNeverBe(t *testing.T) {
	for name, test := range map[string]struct {
		empties, closes bool
		want            string
	}{
		"a good one":               {},
		"one that empties a group": {empties: true, want: "after call 03: target group shop lost all its machines"},
		"one that closes a port":   {closes: true, want: "after call 05: load balancer shop lost a listener"},
	} {
		t.Run(name, func(t *testing.T) {
			undisturbed := func(string) bool { return false }
			if got := found(t, moving(test.empties, test.closes, nil), crashes, undisturbed); len(got) > 0 {
				t.Errorf("without a guard: %v, want no failure", got)
			}
			got := found(t, moving(test.empties, test.closes, neverBare), crashes, undisturbed)[""]
			if (test.want != "") != strings.Contains(got, "what must never be:\n\t") ||
				!strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestWhatMustNeverBeAfterACrash: harm that only a process does that starts in the middle is found where it does so.
func TestWhatMustNeverBeAfterACrash(t *testing.T) {
	s := moving(false, false, neverBare)
	begin := s.Begin
	s.Begin = func(t *testing.T, cloud *emulator.Emulator) Start {
		t.Helper()
		start := begin(t, cloud)
		first := true
		return func(network http.RoundTripper) Work {
			work := start(network)
			if first {
				first = false
				return work
			}
			// The next process begins with a clean slate, which harms for a moment.
			return (&mover{shop: shop{network: network}, machine: "b", port: "81", emptiesFirst: true,
				closesFirst: true}).work
		}
	}
	got := found(t, s, crashes, func(name string) bool {
		return strings.HasPrefix(name, "before-04") || strings.HasPrefix(name, "before-01")
	})
	if !strings.Contains(got["before-01-GET_v1_loadbalancer-target-groups"], "lost all its machines") || got[""] != "" {
		t.Errorf("problems = %v, want one of the process after the crash", got)
	}
}

// TestGuardSeesWhatTimeBrings: a change between two calls is seen before the next.
func TestGuardSeesWhatTimeBrings(t *testing.T) {
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(), Middleware: openapitest.Sampled(t)})
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(cloud, func(was, is emulator.State) error {
		if len(is.LoadBalancers) < len(was.LoadBalancers) {
			return errors.New("one is gone")
		}
		return nil
	})
	if err := (&shop{network: cloud.Transport()}).create(t.Context(), balancers, "shop"); err != nil {
		t.Fatal(err)
	}
	g.look("before call 01")
	if err := (&shop{network: cloud.Transport()}).call(t.Context(), http.MethodDelete, balancers+"/shop", nil,
		nil); err != nil {
		t.Fatal(err)
	}
	g.look("before call 02")
	g.look("after call 02")
	if got := g.problems(); !slices.Equal(got, []string{"before call 02: one is gone"}) {
		t.Errorf("problems = %q", got)
	}
}
