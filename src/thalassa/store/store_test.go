package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// object is what the tests' cloud has.
type object struct{ id, key, value string }

// shelf is a cloud with one kind of object; lists take a second, and see what was there when they began.
type shelf struct {
	mu      sync.Mutex
	objects []object
	lists   int
	err     error
	empty   bool // the next list shows nothing

	asked   []string // identities that were requested
	hidden  []object // what only requests show
	failure error    // of requests
}

func (s *shelf) list(context.Context) ([]object, error) {
	s.mu.Lock()
	s.lists++
	objects, err := slices.Clone(s.objects), s.err
	if s.empty {
		objects, s.empty = nil, false
	}
	s.mu.Unlock()
	<-time.After(time.Second)
	return objects, err
}

func (s *shelf) set(objects ...object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = objects
}

func (s *shelf) emptyOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty = true
}

func (s *shelf) kind() *Store[object] {
	return New("objects", s.list, func(o object) string {
		return o.id
	}, func(o object) []string { return []string{"key/" + o.key} })
}

// askable is kind with requests for what lists leave out.
func (s *shelf) askable() *Store[object] {
	k := s.kind()
	k.Get = func(_ context.Context, id string) (object, bool, error) {
		s.asked = append(s.asked, id)
		if at := slices.IndexFunc(s.hidden, func(o object) bool { return o.id == id }); at >= 0 {
			return s.hidden[at], true, s.failure
		}
		return object{}, false, s.failure
	}
	return k
}

// inCopy returns the object with the identity in the present copy.
func inCopy[T any](tb testing.TB, s *Store[T], id string) (object T) {
	tb.Helper()
	if !s.ChangeStored(id, func(latest T) (T, bool) {
		object = latest
		return latest, false
	}) {
		tb.Errorf("%s is not among the %s", id, s.name)
	}
	return object
}

// values are the values of all objects found, sorted.
func values(t *testing.T, k *Store[object], key string, maxAge time.Duration) string {
	t.Helper()
	found, err := k.Find(t.Context(), key, maxAge)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, o := range found {
		all = append(all, o.value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestReadersShareOneList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "x"}, {"2", "a", "y"}, {"3", "b", "z"}}}
		k := s.kind()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if got := values(t, k, "key/a", time.Minute); got != "x y" {
					t.Errorf("found %q", got)
				}
			})
		}
		all.Wait()
		if got := values(t, k, "3", time.Minute); got != "z" {
			t.Errorf("found %q by identity", got)
		}
		if s.lists != 1 {
			t.Errorf("%d lists, want 1", s.lists)
		}
		<-time.After(2 * time.Minute)
		values(t, k, "key/a", time.Minute)
		if s.lists != 2 {
			t.Errorf("%d lists after the copy became too old, want 2", s.lists)
		}
	})
}

func TestOwnWritesSurviveAListThatBeganBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "old"}, {"2", "a", "deleted"}}}
		k := s.kind()
		done := make(chan string)
		go func() { done <- values(t, k, "key/a", time.Minute) }()
		synctest.Wait() // the list is under way
		k.Put(object{"1", "a", "new"})
		k.Put(object{"3", "a", "created"})
		k.Drop("2")
		if got := <-done; got != "created new" {
			t.Errorf("found %q, want what we wrote", got)
		}
		s.set(object{"1", "a", "changed by others"})
		<-time.After(time.Minute)
		if got := values(t, k, "key/a", time.Second); got != "changed by others" {
			t.Errorf("found %q, want what a later list says", got)
		}
	})
}

func TestPutMovesTheIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := (&shelf{objects: []object{{"1", "a", "x"}}}).kind()
		values(t, k, "key/a", time.Hour)
		k.Put(object{"1", "b", "x"})
		if got := values(t, k, "key/a", time.Hour) + "|" + values(t, k, "key/b", time.Hour); got != "|x" {
			t.Errorf("found %q, want the object under its new key only", got)
		}
	})
}

func TestInvalidateMakesTheNextReaderList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		k := s.kind()
		values(t, k, "key/a", time.Hour)
		s.set(object{"1", "a", "x"})
		k.Invalidate()
		if got := values(t, k, "key/a", time.Hour); got != "x" || s.lists != 2 {
			t.Errorf("found %q with %d lists, want x with 2", got, s.lists)
		}

		// A list that was under way when the uncertainty arose is good for who came before the uncertainty, and for
		// nobody after it.
		s.set(object{"1", "a", "y"})
		done := make(chan string)
		go func() { done <- values(t, k, "key/a", Fresh) }()
		synctest.Wait()
		s.set(object{"1", "a", "z"})
		k.Invalidate()
		if got := values(t, k, "key/a", time.Hour); got != "z" {
			t.Errorf("found %q after the uncertainty, want what a list after it says", got)
		}
		if got := <-done; got != "y" {
			t.Errorf("found %q before the uncertainty, want y", got)
		}
	})
}

// TestInvalidationDelaysNoLookup: writes of others that fail all the time must not keep a reader from its answer.
func TestInvalidationDelaysNoLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "x"}}}
		k := s.kind()
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(900 * time.Millisecond): // a list takes a second
					k.Invalidate()
				}
			}
		}()
		for range 10 {
			if got := values(t, k, "key/a", time.Minute); got != "x" {
				t.Errorf("found %q", got)
			}
		}
		close(stop)
		if s.lists > 20 {
			t.Errorf("%d lists for 10 readers", s.lists)
		}
	})
}

func TestCreatedIsKeptUntilListsShowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		k := s.kind()
		k.PutCreated(object{"1", "a", "new"})
		<-time.After(VisibilityDelay / 2)
		if got := values(t, k, "key/a", 0); got != "new" {
			t.Errorf("found %q while the cloud's lists lag behind, want what we created", got)
		}
		<-time.After(VisibilityDelay)
		if got := values(t, k, "key/a", 0); got != "" {
			t.Errorf("found %q for ever, want what the cloud says in the end", got)
		}
		k.PutCreated(object{"2", "a", "brief"})
		k.Drop("2")
		<-time.After(time.Second)
		if got := values(t, k, "key/a", 0); got != "" {
			t.Errorf("found %q, which we deleted", got)
		}
	})
}

// TestLeavingIsGoneOnceNoListShowsIt, although it was just created: somebody deleted it.
func TestLeavingIsGoneOnceNoListShowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		k := s.kind()
		k.Deleting = func(o object) bool { return o.value == "deleting" }
		k.PutCreated(object{"1", "a", "new"})
		s.set(object{"1", "a", "deleting"})
		<-time.After(time.Second)
		if got := values(t, k, "key/a", 0); got != "deleting" {
			t.Errorf("found %q, want what the list says", got)
		}
		s.set()
		<-time.After(time.Second)
		if got := values(t, k, "key/a", 0); got != "" {
			t.Errorf("found %q, which is gone", got)
		}
	})
}

func TestFailedListIsNoEmptyList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "x"}}}
		k := s.kind()
		values(t, k, "key/a", time.Hour)
		s.err = errors.New("outage")
		found, err := k.Find(t.Context(), "key/a", 0)
		if err == nil || err.Error() != "listing objects: outage" || found != nil {
			t.Errorf("found %v, error %v", found, err)
		}
		if got := values(t, k, "key/a", time.Hour); got != "x" {
			t.Errorf("found %q in the copy that is still new enough, want x", got)
		}
	})
}

func TestReaderMayGiveUpWithoutHarmingOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := (&shelf{objects: []object{{"1", "a", "x"}}}).kind()
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := k.Find(ctx, "key/a", time.Hour)
			done <- err
		}()
		synctest.Wait()
		cancel(errors.New("enough"))
		if err := <-done; err == nil || err.Error() != "waiting for the list of objects: enough" {
			t.Errorf("error = %v", err)
		}
		if got := values(t, k, "key/a", time.Hour); got != "x" {
			t.Errorf("found %q, want x", got)
		}
	})
}
