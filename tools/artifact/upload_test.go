package artifact

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

func TestPush(t *testing.T) {
	store, subject := filled(t)
	var asked atomic.Int32
	r := serve(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v2/" {
			asked.Add(1)
		}
		return true
	})
	var pushed []string
	done := func(e Entry) { pushed = append(pushed, e.Tag) }
	if err := r.Push(t.Context(), store, done); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(pushed, " "), signed(subject.Descriptor.Digest)+"   v1.2.3 1.2.3"; got != want {
		t.Errorf("pushed %q, want %q: versions come last", got, want)
	}
	// To check tags, to read and to write, in each of two repositories.
	if asked.Load() > 6 {
		t.Errorf("the registry was asked %d times who we are", asked.Load())
	}
	check(t, r, subject)
	if _, err := r.Get(t.Context(), "emulator", "v9"); err == nil || !strings.Contains(err.Error(), "emulator:v9") {
		t.Errorf("error = %v, want one that names it", err)
	}
}

// cut is a registry that refuses to be written to after a number of uploads.
type cut struct{ left atomic.Int32 }

func (c *cut) before(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPut || c.left.Add(-1) >= 0 {
		return true
	}
	w.WriteHeader(http.StatusForbidden) // what the library does not repeat
	return false
}

// TestInterruptedPush at every upload: no version has a name without all that belongs to it, and another push completes
// it.
func TestInterruptedPush(t *testing.T) {
	tier.NeedFull(t)
	store, subject := filled(t)
	for kind, answer := range referrers() {
		t.Run(kind, func(t *testing.T) {
			stop := int32(0)
			for !interrupted(t, store, subject, answer, stop) {
				stop++
			}
			if stop < 10 {
				t.Errorf("a push needs only %d uploads", stop)
			}
		})
	}
}

// interrupted interrupts a push and reports whether it was done by then.
func interrupted(t *testing.T, store Store, subject Entry, answer http.HandlerFunc, stop int32) bool {
	t.Helper()
	var c cut
	r := serveAs(t, answer, c.before)
	c.left.Store(stop)
	err := r.Push(t.Context(), store, func(Entry) {})
	if got, problem := r.Get(t.Context(), "emulator", "v1.2.3"); problem == nil {
		complete(t, got, stop)
		whole(t, r, subject)
	}
	if _, problem := r.Get(t.Context(), "charts/x", "1.2.3"); problem == nil && err != nil {
		t.Errorf("stopped after %d uploads, the last version has its name: %v", stop, err)
	}
	c.left.Store(1000)
	if again := r.Push(t.Context(), store, func(Entry) {}); again != nil {
		t.Fatalf("stopped after %d uploads, it cannot be completed: %v", stop, again)
	}
	check(t, r, subject)
	return err == nil
}

// complete reports whether everything that a name stands for is there.
func complete(t *testing.T, got *remote.Descriptor, stop int32) {
	t.Helper()
	index, err := got.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("stopped after %d uploads, half an index has its name: %v", stop, err)
	}
}

// put gives something a tag, as others do.
func put(t *testing.T, r Registry, repository, tag string, content remote.Taggable) v1.Hash {
	t.Helper()
	to, err := name.NewTag(r.Repository(repository) + ":" + tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(to, content); err != nil {
		t.Fatal(err)
	}
	got, err := r.Get(t.Context(), repository, tag)
	if err != nil {
		t.Fatal(err)
	}
	return got.Digest
}

// TestTakenTags are named, all of them, and nothing is uploaded.
func TestTakenTags(t *testing.T) {
	store, subject := filled(t)
	other, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int32
	r := serve(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes.Add(1)
		}
		return true
	})
	digest := put(t, r, "emulator", "v1.2.3", other)
	put(t, r, "charts/x", "1.2.3", other)
	writes.Store(0)
	err = r.Push(t.Context(), store, func(Entry) {})
	var taken *TakenError
	if !errors.As(err, &taken) || len(taken.Tags) != 2 {
		t.Fatalf("error = %v, want one about two tags", err)
	}
	for _, want := range []string{
		r.Repository("emulator") + ":v1.2.3 is on " + digest.String() + ", not on " +
			subject.Descriptor.Digest.String(), r.Repository("charts/x") + ":1.2.3 is on ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
	if writes.Load() > 0 {
		t.Errorf("%d requests to write", writes.Load())
	}
}

// TestTagTakenMeanwhile, while the content is uploaded, is not moved either.
func TestTagTakenMeanwhile(t *testing.T) {
	store, _ := filled(t)
	other, err := random.Image(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	var r Registry
	var once atomic.Bool
	r = serve(t, func(_ http.ResponseWriter, request *http.Request) bool {
		if request.Method == http.MethodPut && once.CompareAndSwap(false, true) {
			put(t, r, "charts/x", "1.2.3", other)
		}
		return true
	})
	var taken *TakenError
	if err := r.Push(t.Context(), store, func(Entry) {}); !errors.As(err, &taken) || len(taken.Tags) != 1 {
		t.Errorf("error = %v, want one about a tag", err)
	}
	if _, err := r.Get(t.Context(), "emulator", "v1.2.3"); err == nil {
		t.Error("another version got its tag")
	}
}

// TestRegistryThatDoesNotSay whether a repository is there before it is: it is written to all the same, but no tag
// without checking.
func TestRegistryThatDoesNotSay(t *testing.T) {
	store, subject := filled(t)
	for _, status := range []int{http.StatusForbidden, http.StatusUnauthorized} {
		var written atomic.Bool
		r := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				written.Store(true)
			}
			if strings.HasSuffix(r.URL.Path, "/manifests/v1.2.3") && !written.Load() {
				w.WriteHeader(status)
				return false
			}
			return true
		})
		if err := r.Push(t.Context(), store, func(Entry) {}); err != nil {
			t.Errorf("%d before it is there: %v", status, err)
		}
		check(t, r, subject)
		hidden := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/manifests/v1.2.3") {
				w.WriteHeader(status)
				return false
			}
			return true
		})
		if err := hidden.Push(t.Context(), store, func(Entry) {}); err == nil ||
			!strings.Contains(err.Error(), "checking what has a tag already") {
			t.Errorf("%d for ever: error = %v", status, err)
		}
	}
}

// TestRightsOfBefore: a registry may grant nothing to those who ask to read a repository before it is there, and stand
// by that.
func TestRightsOfBefore(t *testing.T) {
	store, subject := filled(t)
	var written atomic.Bool
	grant := func(w http.ResponseWriter, r *http.Request) {
		token := "nothing"
		if written.Load() || strings.Contains(r.URL.Query().Get("scope"), "push") {
			token = "all"
		}
		_, _ = io.WriteString(w, `{"token":"`+token+`"}`)
	}
	r := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/token":
			grant(w, r)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("Authorization") != "Bearer all":
			w.WriteHeader(http.StatusForbidden)
		default:
			written.Store(written.Load() || r.Method == http.MethodPut)
			return true
		}
		return false
	})
	if err := r.Push(t.Context(), store, func(Entry) {}); err != nil {
		t.Fatal(err)
	}
	check(t, At(r.base), subject)
}

// TestPutMovesTheTag, which is what Upload never does.
func TestPutMovesTheTag(t *testing.T) {
	r := serve(t, func(http.ResponseWriter, *http.Request) bool { return true })
	for range 2 {
		content, err := random.Index(10, 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Put(t.Context(), "emulator", "devel", content); err != nil {
			t.Fatal(err)
		}
		want, err := content.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Get(t.Context(), "emulator", "devel"); err != nil || got.Digest != want {
			t.Errorf("the tag is on %v, %v; want %s", got, err, want)
		}
	}
	if err := r.Put(t.Context(), "Not A Name", "devel", nil); err == nil {
		t.Error("a name that is none was accepted")
	}
}
