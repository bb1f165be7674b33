package release

import (
	"io"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// without is a list without what drop says.
func without(l List, drop func(Item) bool) List {
	l.Items = slices.DeleteFunc(slices.Clone(l.Items), drop)
	return l
}

// TestIncompleteList is signed, but by mistake: nobody takes it for a release.
func TestIncompleteList(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	r, _ := published(t, key)
	list := listOf(t, r, public)
	kind := func(kind Kind) func(Item) bool { return func(item Item) bool { return item.Kind == kind } }
	about := func(kind Kind, repository string) func(Item) bool {
		return func(item Item) bool { return item.Kind == kind && item.Repository == repository }
	}
	for want, drop := range map[string]func(Item) bool{
		"no image cloud-controller-manager": about(KindImage, "cloud-controller-manager"),
		"no image emulator":                 about(KindImage, "emulator"),
		"no image csi-driver":               about(KindImage, "csi-driver"),
		"no chart":                          kind(KindChart),
		"no bundle":                         kind(KindBundle),
		"no plugin":                         kind(KindPlugin),
		"no provenance of image emulator":   about(KindProvenance, "emulator"),
		"no provenance of image cloud-controller-manager":  about(KindProvenance, "cloud-controller-manager"),
		"no provenance of chart charts/thalassa-ccm":       about(KindProvenance, "charts/thalassa-ccm"),
		"no provenance of bundle kustomize":                about(KindProvenance, "kustomize"),
		"no signature of bundle kustomize":                 about(KindSignature, "kustomize"),
		"no image cloud-controller-manager\nno image emul": func(Item) bool { return true },
	} {
		if err := without(list, drop).complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	if err := list.complete(); err != nil {
		t.Error(err)
	}
	relist(t, r, key, without(list, kind(KindBundle)))
	to, _ := serve(t)
	for name, err := range map[string]error{
		"verified": Verify(t.Context(), r, "v1.0.0", public, io.Discard),
		"mirrored": Mirror(t.Context(), r, to, "v1.0.0", public, io.Discard),
		"saved":    Save(t.Context(), r, "v1.0.0", public, t.TempDir()+"/saved", io.Discard),
	} {
		if err == nil || !strings.Contains(err.Error(), "the list of release v1.0.0 is not complete: no bundle") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

func TestListWithAnotherTag(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	r, _ := published(t, key)
	list := listOf(t, r, public)
	for i := range list.Items {
		if list.Items[i].Kind == KindChart {
			list.Items[i].Tag = "latest"
		}
	}
	want := `chart charts/thalassa-ccm has the tag "latest", want "1.0.0"`
	if err := list.complete(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want %q", err, want)
	}
}

// TestListThatDisagrees with what it names.
func TestListThatDisagrees(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	r, _ := published(t, key)
	list := listOf(t, r, public)
	change := func(change func(*Item)) List {
		changed := list
		changed.Items = slices.Clone(list.Items)
		for i := range changed.Items {
			change(&changed.Items[i])
		}
		return changed
	}
	sboms := list.of(KindSBOM)
	manager, _ := list.image("cloud-controller-manager")
	emulator, _ := list.image("emulator")
	otherCommit := change(func(*Item) {})
	otherCommit.Revision = strings.Repeat("0b", 20)
	for want, changed := range map[string]List{
		`its statement names the commit "` + list.Revision + `", the list ` + otherCommit.Revision: otherCommit,
		"no SBOM of its image for linux/": without(list, func(item Item) bool { return item == sboms[3] }),
		"plugin " + r.Repository("kubectl-thalassa") +
			": it has 5 archives, and the list names 4 SBOMs of it": without(list, func(item Item) bool {
			return item == sboms[len(sboms)-1]
		}),
		"it does not say that it is attached to " + sboms[1].Subject: change(func(item *Item) {
			if *item == sboms[0] {
				item.Subject = sboms[1].Subject
			}
		}),
		"its value image.digest is \"" + manager.Digest + "\", the release's image is " +
			emulator.Digest: change(func(item *Item) {
			if item.Digest == manager.Digest {
				item.Digest = emulator.Digest
			}
			if item.Subject == manager.Digest {
				item.Subject = emulator.Digest
			}
		}),
	} {
		relist(t, r, key, changed)
		if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	relist(t, r, key, list)
	if err := Verify(t.Context(), r, "v1.0.0", public, io.Discard); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

// TestStatementAboutSomethingElse than what it is attached to.
func TestStatementAboutSomethingElse(t *testing.T) {
	tier.NeedFull(t)
	key, public := newKey(t)
	r, _ := published(t, key)
	list := listOf(t, r, public)
	item := list.of(KindProvenance)[0]
	statement := imageOf(t, get(t, r, item.Repository, item.Digest))
	if err := list.agrees(item, statement); err != nil {
		t.Error(err)
	}
	item.Subject = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("1", 64)}.String()
	if err := list.agrees(item, statement); err == nil || !strings.Contains(err.Error(), "its statement is not about "+
		item.Subject) {
		t.Errorf("error = %v", err)
	}
	bundle := list.of(KindBundle)[0]
	archive := imageOf(t, get(t, r, bundle.Repository, bundle.Digest))
	if err := list.agrees(item, archive); err == nil || !strings.Contains(err.Error(), "reading the statement") {
		t.Errorf("error = %v", err)
	}
	if err := list.runs(statement); err == nil || !strings.Contains(err.Error(), "reading the chart") {
		t.Errorf("error = %v", err)
	}
}
