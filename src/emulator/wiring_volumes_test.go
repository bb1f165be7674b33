package emulator_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// described is the last description that the plane got, once nothing else happens now.
func (f *fabric) described() traffic.Network {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.network
}

// The data plane is told of volumes, and when their machines have them, as time goes by.
func TestWiringGetsVolumes(t *testing.T) {
	const gibibyte = 1 << 30
	synctest.Test(t, func(t *testing.T) {
		plane := &fabric{}
		e := newEmulator(t, withMachine, func(cfg *emulator.Config) {
			cfg.DataPlane = plane
			cfg.Delays = emulator.Delays{VolumeAttach: 5 * time.Second, VolumeDetach: 3 * time.Second,
				VolumeResize: 2 * time.Second}
		})
		expect := func(when string, sizes []int64, machines ...string) {
			t.Helper()
			var gotSizes []int64
			var gotMachines []string
			for _, v := range plane.described().Volumes {
				gotSizes, gotMachines = append(gotSizes, v.Size/gibibyte), append(gotMachines, v.Machine)
			}
			if !slices.Equal(gotSizes, sizes) || !slices.Equal(gotMachines, machines) {
				t.Errorf("%s: volumes of %v GiB at %q, want %v at %q", when, gotSizes, gotMachines, sizes, machines)
			}
		}
		play(t, e, []step{
			{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201},
			{request: "POST " + volumesPath + "/v/attach", body: attachOne, status: 200},
		})
		expect("attaching", []int64{10}, "")
		<-time.After(5 * time.Second)
		expect("attached", []int64{10}, "vm-1")
		play(t, e, []step{{request: "PUT " + volumesPath + "/v", body: `{"name":"v","size":20}`, status: 200}})
		expect("growing", []int64{10}, "vm-1")
		<-time.After(2 * time.Second)
		expect("grown", []int64{20}, "vm-1")
		play(t, e, []step{
			{request: "POST " + snapshotsPath, body: snapshotNamed("s", "v"), status: 201},
			{request: "POST " + volumesPath, body: replaced(restoring("w", "s"), "10", "30"), status: 201},
			{request: "POST " + volumesPath + "/v/detach", body: attachOne, status: 204},
		})
		network := plane.described()
		if s, w := network.Snapshots, network.Volumes[1]; len(s) != 1 || s[0].Volume != network.Volumes[0].Identity ||
			s[0].Size != 20*gibibyte || w.Snapshot != s[0].Identity {
			t.Errorf("%+v, want a snapshot of the first volume and a copy of it", network)
		}
		expect("detaching", []int64{20, 30}, "vm-1", "")
		<-time.After(3 * time.Second)
		expect("detached", []int64{20, 30}, "", "")
		play(t, e, []step{{request: "POST /v1/machines", body: `{"name":"m","subnet":"emulator",` +
			`"machineType":"pgp-small","rootVolume":{"size":5}}`, status: 201}})
		expect("a root volume", []int64{20, 30, 5}, "", "", "")
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The data plane gets the snapshots of a policy when they are due, without a request.
func TestWiringGetsSnapshotsOfPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plane := &fabric{}
		e := newEmulator(t, func(cfg *emulator.Config) { cfg.DataPlane = plane })
		play(t, e, []step{
			{request: "POST " + volumesPath, body: replaced(volumeNamed("v"), "}", `,"labels":{"backup":"true"}}`),
				status: 201},
			{request: "POST " + policiesPath, body: policyNamed("p"), status: 201},
		})
		before := e.Revision()
		for day, want := range []int{0, 1, 2} {
			if got := len(plane.described().Snapshots); got != want {
				t.Errorf("day %d: %d snapshots, want %d", day, got, want)
			}
			<-time.After(24 * time.Hour)
		}
		if e.Revision() == before {
			t.Error("the changes are not announced, so that --state does not keep them")
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What failed is tried again without another request, until it works.
func TestWiringIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plane := &fabric{}
		e := newEmulator(t, withMachine, func(cfg *emulator.Config) { cfg.DataPlane = plane })
		set := func(err error) {
			plane.mu.Lock()
			defer plane.mu.Unlock()
			plane.refuse = err
		}
		set(errors.New("still open"))
		play(t, e, []step{{request: "POST " + volumesPath, body: volumeNamed("v"), status: 201}})
		<-time.After(10 * time.Second)
		synctest.Wait()
		if e.State().Network.Problem == "" {
			t.Error("the problem is over, and its reason is not")
		}
		set(nil)
		<-time.After(time.Second)
		synctest.Wait()
		if problem := e.State().Network.Problem; problem != "" {
			t.Errorf("the problem %q is there a second after its reason", problem)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}
