package volume

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// us is the owner in these tests.
func us() Owner {
	return Owner{Driver: "driver", Cluster: "k8s-1", Extra: map[string]string{"team": "shop"}}
}

// of returns labels of a cluster and driver.
func of(driver, cluster string) resource.Labels {
	return resource.Labels{label.CSIDriver: "true", label.CSIDriverName: driver, label.CSICluster: cluster}
}

func TestOwnerLabels(t *testing.T) {
	labels := us().Labels()
	if labels["team"] != "shop" || !us().Owns(labels) {
		t.Errorf("labels %v, want those of the owner and the extra one", labels)
	}
	extra := us()
	extra.Extra[label.CSICluster] = "k8s-2"
	if got := extra.Labels()[label.CSICluster]; got != "k8s-1" {
		t.Errorf("an extra label changes the cluster to %q", got)
	}
	if (Owner{Driver: "driver", Cluster: "k8s-1"}).Labels()[label.CSIDriver] != "true" {
		t.Error("an owner without extra labels has no labels")
	}
}

func TestOwnership(t *testing.T) {
	for name, test := range map[string]struct {
		labels                     resource.Labels
		owns, deletes, adopt, uses bool
	}{
		"ours":                {of("driver", "k8s-1"), true, true, false, true},
		"other cluster":       {of("driver", "k8s-2"), false, false, false, false},
		"other driver":        {of("other", "k8s-1"), false, false, false, false},
		"without cluster":     {of("driver", ""), false, true, false, true},
		"without driver":      {resource.Labels{label.CSICluster: "k8s-1"}, false, false, false, false},
		"of some driver":      {resource.Labels{label.CSIDriver: "true"}, false, false, false, false},
		"without labels":      {nil, false, false, true, true},
		"with others' labels": {resource.Labels{"team": "shop"}, false, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := us().Owns(test.labels); got != test.owns {
				t.Errorf("Owns: %v, want %v", got, test.owns)
			}
			err := us().MayDelete("volume", "v-1", test.labels)
			checkAllowed(t, err, test.deletes, "use the reclaim policy Retain")
			v := resource.Volume{ID: "v-1", Name: "data", Labels: test.labels}
			checkAllowed(t, us().MayUse(v), test.uses, "volume v-1 belongs to cluster")
			adopted, err := us().Adopted(v, "pvc-1")
			if adopted || test.owns && status.Code(err) != codes.AlreadyExists {
				t.Errorf("adopted %v, %v, want AlreadyExists for a volume that was created for another "+
					"claim", adopted, err)
			}
			if !test.owns {
				checkAllowed(t, err, test.adopt, "remove the labels")
			}
		})
	}
}

// An adopted volume has one PersistentVolume.
func TestAdopted(t *testing.T) {
	v := resource.Volume{ID: "v-1", Labels: of("driver", "k8s-1"),
		Annotations: resource.Labels{label.CSIAdoptedBy: "pvc-1"}}
	if adopted, err := us().Adopted(v, "pvc-1"); !adopted || err != nil {
		t.Errorf("the same claim: %v, %v", adopted, err)
	}
	if _, err := us().Adopted(v, "pvc-2"); status.Code(err) != codes.AlreadyExists ||
		!strings.Contains(err.Error(), "pvc-1") {
		t.Errorf("another claim: %v", err)
	}
}

// checkAllowed checks that err is nil, or is FailedPrecondition with the text.
func checkAllowed(t *testing.T, err error, allowed bool, text string) {
	t.Helper()
	if allowed && err == nil {
		return
	}
	if allowed || status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want allowed %v, else FailedPrecondition with %q", err, allowed, text)
	}
}

func TestChoose(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	ours := func(id string, at time.Time) resource.Volume {
		return resource.Volume{ID: id, Labels: of("driver", "k8s-1"), CreatedAt: at}
	}
	foreign, deleting := ours("v-0", early), ours("v-0", early)
	foreign.Labels, deleting.Status = of("driver", "k8s-2"), resource.StatusDeleting
	for name, test := range map[string]struct {
		named []resource.Volume
		want  string
		code  codes.Code
	}{
		"none":             {nil, "", codes.OK},
		"one":              {[]resource.Volume{ours("v-1", late)}, "v-1", codes.OK},
		"oldest":           {[]resource.Volume{ours("v-1", late), ours("v-2", early)}, "v-2", codes.OK},
		"same age":         {[]resource.Volume{ours("v-2", late), ours("v-1", late)}, "v-1", codes.OK},
		"deleting":         {[]resource.Volume{deleting}, "", codes.OK},
		"deleting and new": {[]resource.Volume{deleting, ours("v-1", late)}, "v-1", codes.OK},
		"foreign":          {[]resource.Volume{foreign}, "", codes.AlreadyExists},
		"foreign and ours": {[]resource.Volume{foreign, ours("v-1", late)}, "v-1", codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			v, found, err := Choose(us(), test.named)
			if v.ID != test.want || found != (test.want != "") || status.Code(err) != test.code {
				t.Errorf("%q, found %v, %v; want %q and %s", v.ID, found, err, test.want, test.code)
			}
			if err != nil && !strings.Contains(err.Error(), "rename it, or add the labels") {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}

func TestChooseSnapshot(t *testing.T) {
	ours := resource.Snapshot{ID: "snap-1", Labels: of("driver", "k8s-1")}
	s, found, err := ChooseSnapshot(us(), []resource.Snapshot{{ID: "snap-0"}, ours})
	if s.ID != "snap-1" || !found || err != nil {
		t.Errorf("%q, %v, %v, want snap-1", s.ID, found, err)
	}
	_, _, err = ChooseSnapshot(us(), []resource.Snapshot{{ID: "snap-0"}})
	if status.Code(err) != codes.AlreadyExists || !strings.Contains(err.Error(), "snapshot snap-0") {
		t.Errorf("%v, want AlreadyExists that names the snapshot", err)
	}
}

func TestSame(t *testing.T) {
	existing := resource.Volume{ID: "v-1", Name: "pvc-1", Size: 2, Type: "vt-1", Snapshot: "snap-1"}
	clone := existing
	clone.Labels = resource.Labels{label.CSISourceVolume: "v-0"}
	typeless := existing
	typeless.Type = ""
	for name, test := range map[string]struct {
		volume resource.Volume
		wanted Desired
		text   string
	}{
		"same":         {existing, Desired{Required: 2 * resource.GiB, Type: "vt-1", Snapshot: "snap-1"}, ""},
		"unrounded":    {existing, Desired{Required: 2*resource.GiB - 1, Type: "vt-1", Snapshot: "snap-1"}, ""},
		"at the limit": {existing, Desired{Limit: 2 * resource.GiB, Type: "vt-1", Snapshot: "snap-1"}, ""},
		"unknown type": {typeless, Desired{Type: "vt-2", Snapshot: "snap-1"}, ""},
		"same clone":   {clone, Desired{Type: "vt-1", Source: "v-0", Snapshot: "snap-2"}, ""},
		"too small": {
			existing, Desired{Required: 2*resource.GiB + 1, Type: "vt-1", Snapshot: "snap-1"}, "another size, 2 GiB",
		},
		"too large": {existing, Desired{Limit: 2*resource.GiB - 1, Type: "vt-1", Snapshot: "snap-1"}, "another size"},
		"type":      {existing, Desired{Type: "vt-2", Snapshot: "snap-1"}, "another volume type, vt-1"},
		"snapshot": {
			existing, Desired{Type: "vt-1", Snapshot: "snap-2"}, "from snapshot snap-1, not from snapshot snap-2",
		},
		"no snapshot":     {existing, Desired{Type: "vt-1"}, "not from no snapshot"},
		"clone of other":  {clone, Desired{Type: "vt-1", Source: "v-9"}, `a clone of volume "v-0", not of "v-9"`},
		"clone, not that": {clone, Desired{Type: "vt-1", Snapshot: "snap-1"}, "a clone"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.wanted.Same(test.volume)
			if (err == nil) != (test.text == "") || err != nil && (status.Code(err) != codes.AlreadyExists ||
				!strings.Contains(err.Error(), test.text)) {
				t.Errorf("%v, want AlreadyExists with %q, or nil", err, test.text)
			}
		})
	}
}

func TestCloudName(t *testing.T) {
	const claim = "pvc-0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d"
	long := strings.Repeat("a", 63)
	for name, want := range map[string]string{claim: claim, "snapshot_1.A": "snapshot_1.A", long[:62]: long[:62]} {
		if got := CloudName(name); got != want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
	names := map[string]string{}
	for _, name := range []string{long, long + "b", "a b", "a/b", "a-b", "a\xff", "ä", "", "日本"} {
		got := CloudName(name)
		if other, taken := names[got]; taken {
			t.Errorf("%q and %q both became %s", name, other, got)
		}
		names[got] = name
	}
}

// A name in the cloud is valid, does not change, and is not that of another name.
func FuzzCloudName(f *testing.F) {
	f.Add("pvc-0a1b2c3d", "pvc-0a1b2c3e")
	f.Add(strings.Repeat("a", 128), strings.Repeat("a", 127))
	f.Add("a/b", "a-b")
	f.Add("ä", "a\xff")
	f.Fuzz(func(t *testing.T, one, other string) {
		got := CloudName(one)
		if len(got) > maxName || got != CloudName(one) {
			t.Errorf("%q became %q, and then %q", one, got, CloudName(one))
		}
		if strings.Trim(got, "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			t.Errorf("%q became %q, which has other characters", one, got)
		}
		if one != other && got == CloudName(other) {
			t.Errorf("%q and %q both became %q", one, other, got)
		}
	})
}
