package store

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestNoNewerListIsLost: while lists arrive all the time, a change is never made to what an older list said. It is
// about what happens within one tick of the clock, so it is tried often.
func TestNoNewerListIsLost(t *testing.T) {
	const changes, turns = 200, 100
	var lists, seen atomic.Int64
	k := New("objects", func(context.Context) ([]counted, error) { return []counted{{"1", lists.Add(1)}}, nil },
		func(c counted) string { return c.id }, func(counted) []string { return nil })
	read := func() {
		found, err := k.Find(t.Context(), "1", Fresh)
		if err != nil || len(found) != 1 {
			t.Errorf("found %v, error %v", found, err)
			return
		}
		seen.Store(max(seen.Load(), found[0].list))
	}
	read()
	ended := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				read()
			}
		}
	})
	for range changes {
		k.Change("1", counted{}, func(latest counted) counted {
			before := seen.Load()
			for turn := 0; turn < turns && seen.Load() < before+2; turn++ {
				runtime.Gosched() // whoever can come in between does
			}
			return latest
		})
		reader := seen.Load()
		if now := inCopy(t, k, "1").list; now < reader {
			t.Errorf("the copy went back to list %d after a reader saw list %d", now, reader)
			break
		}
	}
	close(ended)
	all.Wait()
}

// counted is an object that says which list showed it.
type counted struct {
	id   string
	list int64
}

// TestChange: an object that is not stored is made of another one, or stays away.
func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "x"}, {"2", "a", "y"}}}
		k := s.kind()
		values(t, k, "1", time.Hour)
		changed := func(latest object) object { return object{latest.id, "a", latest.value + "!"} }
		k.Change("1", object{}, changed)
		k.Change("3", object{"3", "", "z"}, changed)
		for id, changes := range map[string]bool{"2": false, "4": true} {
			if known := k.ChangeStored(id, func(latest object) (object, bool) {
				return changed(latest), changes
			}); known != (id == "2") {
				t.Errorf("%s is stored: %t", id, known)
			}
		}
		if got := values(t, k, "key/a", time.Hour); got != "x! y z!" {
			t.Errorf("found %q", got)
		}
	})
}

// TestAnswer: what the cloud says about one object counts unless a list that began later, or a write, says more.
func TestAnswer(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(*testing.T, *Store[object])
		want      string
	}{
		"nothing happens": {func(*testing.T, *Store[object]) {}, "answer"},
		"a newer list":    {func(t *testing.T, k *Store[object]) { t.Helper(); values(t, k, "1", Fresh) }, "listed"},
		"a write":         {func(_ *testing.T, k *Store[object]) { k.Put(object{"1", "a", "written"}) }, "written"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := (&shelf{objects: []object{{"1", "a", "listed"}}}).kind()
				values(t, k, "1", time.Hour)
				readNumber := k.BeginRead()
				tt.meanwhile(t, k)
				k.PutFetched(object{"1", "a", "answer"}, readNumber)
				if got := values(t, k, "1", time.Hour); got != tt.want {
					t.Errorf("found %q, want %q", got, tt.want)
				}
			})
		})
	}
}
