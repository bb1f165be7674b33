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
		k.Change("1", func(latest counted, _ bool) (counted, Outcome) {
			before := seen.Load()
			for turn := 0; turn < turns && seen.Load() < before+2; turn++ {
				runtime.Gosched() // whoever can come in between does
			}
			return latest, Stored
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

// TestChange: what becomes of an object.
func TestChange(t *testing.T) {
	tests := map[string]struct {
		id      string
		outcome Outcome
		want    string
	}{
		"stored":    {"1", Stored, "changed y"},
		"untouched": {"1", Untouched, "x y"},
		"removed":   {"1", Removed, "y"},
		"new":       {"3", Stored, "changed x y"},
		"unknown":   {"3", Removed, "x y"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{objects: []object{{"1", "a", "x"}, {"2", "a", "y"}}}
				k := s.kind()
				values(t, k, "1", time.Hour)
				k.Change(tt.id, func(latest object, known bool) (object, Outcome) {
					if known != (tt.id == "1") || known && latest.value != "x" {
						t.Errorf("it changes %v, known %v", latest, known)
					}
					return object{tt.id, "a", "changed"}, tt.outcome
				})
				if got := values(t, k, "key/a", time.Hour); got != tt.want {
					t.Errorf("found %q, want %q", got, tt.want)
				}
			})
		})
	}
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
