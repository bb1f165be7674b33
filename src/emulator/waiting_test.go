package emulator_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-resty/resty/v2"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// virtual is a cloud and its official client in virtual time.
func virtual(t *testing.T, delays emulator.Delays) (*emulator.Emulator, *iaas.Client) {
	t.Helper()
	e, err := emulator.NewDescribed(t, emulator.Config{Seed: emulator.DefaultSeed(), Delays: delays})
	if err != nil {
		t.Fatal(err)
	}
	client, err := thalassa.NewClient(
		vendor.WithBaseURL("http://cloud.test"), vendor.WithAuthPersonalToken(emulator.DefaultToken),
		vendor.WithMiddleware(func(r *resty.Client, _ *resty.Request) error {
			r.SetTransport(e.Transport())
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return e, client.IaaS()
}

// The official client's helpers poll every second until a status is reached.
func TestOfficialClientWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, api := virtual(t, emulator.Delays{LoadbalancerCreate: 90 * time.Second, LoadbalancerDelete: 5 * time.Second,
			LoadbalancerLinger: time.Minute, MachineDelete: 20 * time.Second})
		lb, err := api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "a", Subnet: "emulator"})
		if err != nil {
			t.Fatal(err)
		}
		machine, err := e.AddMachine(emulator.MachineSpec{Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if err := api.WaitUntilLoadbalancerIsDeleted(t.Context(), lb.Identity); err == nil ||
			!strings.Contains(err.Error(), "not being deleted") {
			t.Errorf("waiting for the end of one that is wanted: %v", err)
		}
		for _, step := range []struct {
			name   string
			before func() error
			wait   func() error
			took   time.Duration
		}{
			{"LB ready", nil, func() error {
				return api.WaitUntilLoadbalancerIsReady(t.Context(), lb.Identity)
			}, 90 * time.Second},
			{"VPC ready", nil, func() error { return api.WaitUntilVpcIsReady(t.Context(), "emulator") }, 0},
			{"subnet ready", nil, func() error { return second(api.WaitUntilSubnetReady(t.Context(), "emulator")) }, 0},
			// "deleted" ends the wait as well as 404 does.
			{"LB deleted", func() error { return api.DeleteLoadbalancer(t.Context(), lb.Identity) },
				func() error { return api.WaitUntilLoadbalancerIsDeleted(t.Context(), lb.Identity) }, 5 * time.Second},
			{"machine deleted", func() error { return api.DeleteMachine(t.Context(), machine) },
				func() error { return api.WaitUntilMachineDeleted(t.Context(), machine) }, 20 * time.Second},
			{"machine gone", nil, func() error { return api.WaitUntilMachineDeleted(t.Context(), machine) }, 0},
		} {
			if step.before != nil && step.before() != nil {
				t.Fatalf("%s: cannot begin", step.name)
			}
			start := time.Now()
			if err := step.wait(); err != nil || time.Since(start) != step.took {
				t.Errorf("%s: %v after %s, want %s", step.name, err, time.Since(start), step.took)
			}
		}
	})
}

// The life of a load balancer and of a machine, status by status.
func TestStatusesOverALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := virtual(t, emulator.Delays{
			LoadbalancerCreate: time.Minute, LoadbalancerDelete: time.Minute, LoadbalancerLinger: time.Minute,
			MachineCreate: time.Minute, MachineDelete: 2 * time.Minute,
		})
		lb, err := api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "a", Subnet: "emulator"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := api.CreateMachine(t.Context(), iaas.CreateMachine{Name: "m", Subnet: "emulator",
			MachineType: "pgp-small"})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when, lbStatus, state, status string) {
			t.Helper()
			gotLB, gotState, gotStatus := "404", "404", "404"
			if lb, err := api.GetLoadbalancer(t.Context(), lb.Identity); err == nil {
				gotLB = lb.Status
			}
			if m, err := api.GetMachine(t.Context(), m.Identity); err == nil {
				gotState, gotStatus = string(m.State), m.Status.Status
			}
			if gotLB != lbStatus || gotState != state || gotStatus != status {
				t.Errorf("%s: load balancer %s, machine %s and %s; want %s, %s and %s", when, gotLB, gotState,
					gotStatus, lbStatus, state, status)
			}
		}
		expect("new", "creating", "running", "provisioning")
		<-time.After(time.Minute)
		expect("after a minute", "ready", "running", "running")
		if err := api.MachineStop(t.Context(), m.Identity); err != nil {
			t.Fatal(err)
		}
		expect("stopped", "ready", "stopped", "stopped")
		if api.DeleteLoadbalancer(t.Context(), lb.Identity) != nil ||
			api.DeleteMachine(t.Context(), m.Identity) != nil {
			t.Fatal("deleting failed")
		}
		expect("deleting", "deleting", "deleting", "deleting")
		<-time.After(time.Minute)
		expect("lingering", "deleted", "deleting", "deleting")
		<-time.After(time.Minute)
		expect("gone", "404", "404", "404")
	})
}
