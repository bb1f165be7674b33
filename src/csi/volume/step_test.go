package volume

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// volumeIn returns a volume with a status, and with the machines that have it.
func volumeIn(state string, machines ...string) resource.Volume {
	v := resource.Volume{ID: "v-1", Name: "pvc-1", Type: "vt-1", Status: state, Size: 10}
	for _, machine := range machines {
		v.Attachments = append(v.Attachments, resource.Attachment{Machine: machine})
	}
	return v
}

// leaving returns a volume whose attachment to the machine is ending.
func leaving(state, machine string) resource.Volume {
	v := volumeIn(state, machine)
	v.Attachments[0].Detaching = true
	return v
}

// protected returns a volume that is protected from deletion.
func protected(v resource.Volume) resource.Volume {
	v.DeleteProtection = true
	return v
}

// outcome is what a decision has to be.
type outcome struct {
	step Step
	code codes.Code
	text string // a part of the message
}

func (want outcome) check(t *testing.T, step Step, err error) {
	t.Helper()
	message := status.Convert(err).Message()
	if step != want.step || status.Code(err) != want.code || !strings.Contains(message, want.text) {
		t.Errorf("step %d, error %v; want step %d, %s with %q", step, err, want.step, want.code, want.text)
	}
}

func TestAttach(t *testing.T) {
	for name, test := range map[string]struct {
		volume resource.Volume
		want   outcome
	}{
		"available":            {volumeIn(resource.VolumeAvailable), outcome{step: Write}},
		"creating":             {volumeIn(resource.VolumeCreating), outcome{step: Wait}},
		"attaching here":       {volumeIn(resource.VolumeAttaching, "vm-1"), outcome{step: Wait}},
		"attached here":        {volumeIn(resource.VolumeAttached, "vm-1"), outcome{step: Done}},
		"leaving here":         {leaving(resource.VolumeDetaching, "vm-1"), outcome{step: Wait}},
		"leaving elsewhere":    {leaving(resource.VolumeDetaching, "vm-2"), outcome{step: Wait}},
		"status not shown yet": {volumeIn(resource.VolumeAvailable, "vm-1"), outcome{step: Wait}},
		"unknown status":       {volumeIn("migrating"), outcome{step: Wait}},
		"attached elsewhere": {
			volumeIn(resource.VolumeAttached, "vm-2"),
			outcome{code: codes.FailedPrecondition, text: "attached to machine vm-2"},
		},
		"deleting": {volumeIn(resource.StatusDeleting), outcome{code: codes.NotFound, text: "being deleted"}},
		"failed": {
			volumeIn(resource.VolumeFailed), outcome{code: codes.FailedPrecondition, text: "ask the cloud's support"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := Attach(test.volume, "vm-1")
			test.want.check(t, step, err)
		})
	}
}

func TestDetach(t *testing.T) {
	for name, test := range map[string]struct {
		volume resource.Volume
		want   Step
	}{
		"available":               {volumeIn(resource.VolumeAvailable), Done},
		"deleting":                {volumeIn(resource.StatusDeleting), Done},
		"attached here":           {volumeIn(resource.VolumeAttached, "vm-1"), Write},
		"failed here":             {volumeIn(resource.VolumeFailed, "vm-1"), Write},
		"attaching here":          {volumeIn(resource.VolumeAttaching, "vm-1"), Wait},
		"leaving here":            {leaving(resource.VolumeDetaching, "vm-1"), Wait},
		"leaving elsewhere":       {leaving(resource.VolumeDetaching, "vm-2"), Done},
		"attached elsewhere":      {volumeIn(resource.VolumeAttached, "vm-2"), Done},
		"attached at both":        {volumeIn(resource.VolumeAttached, "vm-2", "vm-1"), Write},
		"detaching without whose": {volumeIn(resource.VolumeDetaching), Wait},
		"attached without whose":  {volumeIn(resource.VolumeAttached), Wait},
	} {
		t.Run(name, func(t *testing.T) {
			ours := func(a resource.Attachment) bool { return a.Machine == "vm-1" }
			machine, step := Detach(test.volume, ours)
			if step != test.want || (machine == "vm-1") != (step == Write) {
				t.Errorf("step %d at machine %q, want %d", step, machine, test.want)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	for name, test := range map[string]struct {
		volume resource.Volume
		want   outcome
	}{
		"available":         {volumeIn(resource.VolumeAvailable), outcome{step: Write}},
		"failed":            {volumeIn(resource.VolumeFailed), outcome{step: Write}},
		"deleting":          {volumeIn(resource.StatusDeleting), outcome{step: Done}},
		"creating":          {volumeIn(resource.VolumeCreating), outcome{step: Wait}},
		"leaving":           {leaving(resource.VolumeDetaching, "vm-1"), outcome{step: Wait}},
		"detaching":         {volumeIn(resource.VolumeDetaching), outcome{step: Wait}},
		"deleted protected": {protected(volumeIn(resource.StatusDeleting)), outcome{step: Done}},
		"attached": {
			volumeIn(resource.VolumeAttached, "vm-1"),
			outcome{code: codes.FailedPrecondition, text: "attached to machine vm-1"},
		},
		"protected": {
			protected(volumeIn(resource.VolumeAvailable)),
			outcome{code: codes.FailedPrecondition, text: "turn the protection off"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := Delete(test.volume)
			test.want.check(t, step, err)
		})
	}
}

func noon() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

// created returns a volume of that age at noon.
func created(v resource.Volume, age time.Duration) resource.Volume {
	v.CreatedAt = noon().Add(-age)
	return v
}

func TestReady(t *testing.T) {
	for name, test := range map[string]struct {
		volume resource.Volume
		want   outcome
	}{
		"available": {volumeIn(resource.VolumeAvailable), outcome{step: Done}},
		"attached":  {volumeIn(resource.VolumeAttached, "vm-1"), outcome{step: Done}},
		"creating":  {volumeIn(resource.VolumeCreating), outcome{step: Wait}},
		"deleting": {
			volumeIn(resource.StatusDeleting), outcome{code: codes.Unavailable, text: "another one is created"},
		},
		"failed": {created(volumeIn(resource.VolumeFailed), time.Hour), outcome{step: Write}},
		"failed later": {
			created(volumeIn(resource.VolumeFailed), time.Hour+time.Second),
			outcome{
				code: codes.FailedPrecondition,
				text: "may contain data, because it was created at 2026-11-26T10:59:59Z",
			},
		},
		"failed while a machine has it": {
			created(volumeIn(resource.VolumeFailed, "vm-1"), time.Minute),
			outcome{code: codes.FailedPrecondition, text: "may contain data"},
		},
		"failed and protected": {
			created(protected(volumeIn(resource.VolumeFailed)), time.Minute),
			outcome{code: codes.FailedPrecondition, text: "may contain data"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := Ready(test.volume, noon())
			test.want.check(t, step, err)
		})
	}
}

func TestExpand(t *testing.T) {
	for name, test := range map[string]struct {
		volume resource.Volume
		size   int64
		fixed  bool
		want   outcome
	}{
		"large enough":           {volumeIn(resource.VolumeAvailable), 10, false, outcome{step: Done}},
		"larger":                 {volumeIn(resource.VolumeAvailable), 5, false, outcome{step: Done}},
		"fixed and large enough": {volumeIn(resource.VolumeAvailable), 10, true, outcome{step: Done}},
		"available":              {volumeIn(resource.VolumeAvailable), 11, false, outcome{step: Write}},
		"attached":               {volumeIn(resource.VolumeAttached, "vm-1"), 11, false, outcome{step: Write}},
		"attaching":              {volumeIn(resource.VolumeAttaching, "vm-1"), 11, false, outcome{step: Wait}},
		"creating":               {volumeIn(resource.VolumeCreating), 11, false, outcome{step: Wait}},
		"deleting": {
			volumeIn(resource.StatusDeleting), 11, false, outcome{code: codes.NotFound, text: "being deleted"},
		},
		"deleting and large enough": {
			volumeIn(resource.StatusDeleting), 10, false, outcome{code: codes.NotFound, text: "being deleted"},
		},
		"failed": {
			volumeIn(resource.VolumeFailed), 11, false,
			outcome{code: codes.FailedPrecondition, text: "ask the cloud's support"},
		},
		"fixed": {
			volumeIn(resource.VolumeAvailable), 11, true,
			outcome{code: codes.InvalidArgument, text: "volume type vt-1 does not allow it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := Expand(test.volume, test.size, !test.fixed)
			test.want.check(t, step, err)
		})
	}
}

func TestRestorable(t *testing.T) {
	for state, want := range map[string]outcome{
		resource.VolumeAvailable: {},
		resource.VolumeCreating:  {code: codes.Unavailable, text: "not ready yet"},
		"unknown":                {code: codes.Unavailable, text: `its status is "unknown"`},
		resource.StatusDeleting:  {code: codes.NotFound, text: "being deleted"},
		resource.VolumeFailed:    {code: codes.FailedPrecondition, text: "create another one"},
	} {
		want.check(t, Done, Restorable(resource.Snapshot{ID: "snap-1", Volume: "v-1", Status: state}))
	}
}
