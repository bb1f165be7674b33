package storage

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// labelled creates a number of volumes with the label of a cluster; "" is none. It returns their identities, sorted.
func (r *rig) labelled(cluster string, number int) []string {
	r.Helper()
	kind, err := r.Type(r.Context(), "block")
	r.ok(err)
	labels := resource.Labels{label.CSICluster: cluster}
	if cluster == "" {
		labels = nil
	}
	var ids []string
	for i := range number {
		v, err := r.CreateVolume(r.Context(),
			resource.Volume{Name: fmt.Sprintf("%s-%d", cluster, i), Size: 1, Type: kind.ID, Labels: labels})
		r.ok(err)
		ids = append(ids, v.ID)
	}
	<-time.After(time.Minute)
	slices.Sort(ids)
	return ids
}

// of makes storage of a cluster that knows nothing.
func (r *rig) of(cluster string) {
	r.Helper()
	r.Storage = New(r.api, Cluster{Key: cluster}, func(context.Context) (string, error) {
		return emulator.DefaultRegion, nil
	})
	r.emulator.ResetCounters()
}

// lists checks the identities of the volumes in a new list, and how many calls this takes.
func (r *rig) lists(want []string, lists, requests int) {
	r.Helper()
	r.emulator.ResetCounters()
	all, err := r.Volumes(r.Context(), Fresh)
	r.ok(err)
	var got []string
	for _, v := range all {
		got = append(got, v.ID)
	}
	if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		r.Errorf("volumes %v, want %v", got, want)
	}
	calls := r.emulator.Counters()
	if calls["GET /v1/volumes"] != lists || calls["GET /v1/volumes/{id}"] != requests {
		r.Errorf("calls %v, want %d lists and %d requests", calls, lists, requests)
	}
}

// finds checks whether volumes are found by identity.
func (r *rig) finds(ids ...string) {
	r.Helper()
	for _, id := range ids {
		if v, found, err := r.Volume(r.Context(), id, time.Minute); !found || err != nil {
			r.Errorf("volume %s: %+v, %v, want that it exists", id, v, err)
		}
	}
}

// Lists have the volumes of the cluster, also in a cloud that ignores the filter, and those without its label that
// somebody asked for, until they have the label, or nobody needs them.
func TestOthersAreListedOnceAskedFor(t *testing.T) {
	for name, test := range map[string]struct {
		ignored  []string
		requests int // for each of the others
	}{"filtered": {nil, 1}, "not filtered": {[]string{"matchLabels"}, 0}} {
		t.Run(name, func(t *testing.T) {
			withRig(t, func(r *rig) {
				ours, none, _ := r.labelled("k8s-1", 2), r.labelled("", 3), r.labelled("k8s-2", 1)
				machine, err := r.emulator.AddMachine(emulator.MachineSpec{Name: "worker-1"})
				r.ok(err)
				r.of("k8s-1")
				r.lists(ours, 1, 0)
				r.finds(none...)
				r.lists(slices.Concat(ours, none), 1, 3*test.requests)

				r.ok(r.AttachVolume(r.Context(), resource.Volume{ID: none[0]}, machine, ""))
				r.ok(r.MarkVolume(r.Context(), resource.Volume{ID: none[1]},
					resource.Labels{label.CSICluster: "k8s-1"}, nil))
				<-time.After(time.Minute)
				r.lists(slices.Concat(ours, none), 1, 2*test.requests)
				<-time.After(2 * otherTTL)
				r.lists(slices.Concat(ours, none), 1, 2*test.requests)
				r.lists(slices.Concat(ours, none[:2]), 1, test.requests)
				r.finds(none[2])
				r.lists(slices.Concat(ours, none), 1, 2*test.requests)
			}, func(config *emulator.Config) { config.Switches.IgnoredFilters = test.ignored })
		})
	}
}

// Many volumes without the label are read in one list of the region.
func TestManyOthers(t *testing.T) {
	withRig(t, func(r *rig) {
		ours, none, _ := r.labelled("k8s-1", 1), r.labelled("", maxRequests+2), r.labelled("k8s-2", 1)
		r.of("k8s-1")
		r.lists(ours, 1, 0)
		r.finds(none[:maxRequests]...)
		r.lists(append(ours, none[:maxRequests]...), 1, maxRequests)
		r.finds(none[maxRequests])
		r.lists(append(ours, none[:maxRequests+1]...), 1, 0)
	})
}

// Volumes that lists contain are not among the others, however many are requested one by one: before a change, or to
// confirm an attachment.
func TestListedVolumesAreNoOthers(t *testing.T) {
	for name, requested := range map[string]func(r *rig, id string) error{
		"confirmed": func(r *rig, id string) error {
			_, _, err := r.ReadVolume(r.Context(), id)
			return err
		},
		"changed": func(r *rig, id string) error { return r.ResizeVolume(r.Context(), resource.Volume{ID: id}, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			withRig(t, func(r *rig) {
				ours, none := r.labelled("k8s-1", maxRequests), r.labelled("", 1)
				r.of("k8s-1")
				r.finds(none...)
				for _, id := range ours {
					r.ok(requested(r, id))
				}
				r.lists(append(ours, none...), 1, 1)
			})
		})
	}
}

// A volume whose request fails is missing in lists, and whoever asks for it gets the error. All others do not depend on
// it. Once the request succeeds, it is listed again.
func TestRequestOfOneVolumeFails(t *testing.T) {
	withRig(t, func(r *rig) {
		ours, none := r.labelled("k8s-1", 1), r.labelled("", 1)
		r.of("k8s-1")
		r.finds(none...)
		r.inject(fault.Rule{Operation: "GET /v1/volumes/{id}", Effect: fault.Effect{Kind: fault.Refuse, Status: 403}})
		r.lists(ours, 1, 1)
		if _, _, err := r.Volume(r.Context(), none[0], time.Minute); err == nil {
			t.Error("want the error of the request")
		}
		r.emulator.ClearFaults()
		r.finds(none...)
		r.lists(append(ours, none...), 1, 1)
	})
}

// A volume that loses its label stays in lists.
func TestVolumeLosesItsLabel(t *testing.T) {
	withRig(t, func(r *rig) {
		ours := r.labelled("k8s-1", 2)
		r.of("k8s-1")
		r.lists(ours, 1, 0)
		r.ok(r.MarkVolume(r.Context(), resource.Volume{ID: ours[0]}, resource.Labels{label.CSICluster: "lost"}, nil))
		r.finds(ours[0])
		r.lists(ours, 1, 1)
	})
}

// Volumes of a name and of a machine are those of the whole region.
func TestVolumesOfTheRegion(t *testing.T) {
	for name, ignored := range map[string][]string{"filtered": nil, "not filtered": {"name", "machine"}} {
		t.Run(name, func(t *testing.T) {
			withRig(t, func(r *rig) {
				machine, err := r.emulator.AddMachine(emulator.MachineSpec{Name: "worker-1"})
				r.ok(err)
				id := r.labelled("k8s-2", 2)[0]
				r.ok(r.AttachVolume(r.Context(), resource.Volume{ID: id}, machine, ""))
				<-time.After(time.Minute)
				r.of("k8s-1")
				found, err := r.VolumesOf(r.Context(), machine)
				if len(found) != 1 || err != nil || found[0].ID != id {
					t.Errorf("%+v, %v, want volume %s", found, err, id)
				}
				for _, want := range []string{"k8s-2-0", "k8s-2-1"} {
					found, err := r.AnyVolumesNamed(r.Context(), want)
					if len(found) != 1 || err != nil || found[0].Name != want {
						t.Errorf("%+v, %v, want volume %s", found, err, want)
					}
				}
			}, func(config *emulator.Config) { config.Switches.IgnoredFilters = ignored })
		})
	}
}
