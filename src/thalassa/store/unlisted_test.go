package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnlistedIsRequested once for each list that leaves it out, and only when somebody looks for it.
func TestUnlistedIsRequested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "x"}, {"2", "b", "y"}}}
		s.hidden = []object{{"1", "a", "x, as it is now"}}
		k := s.askable()
		values(t, k, "key/a", time.Hour)

		s.set()
		s.failure = errors.New("no answer")
		<-time.After(time.Minute)
		if found, err := k.Find(t.Context(), "key/a", time.Second); err == nil ||
			err.Error() != "asking for 1 of the objects, which the list lacks: no answer" {
			t.Errorf("found %v, error %v", found, err)
		}
		s.failure = nil
		for range 3 {
			if got := values(t, k, "key/a", time.Hour); got != "x, as it is now" {
				t.Errorf("found %q, want what asking showed", got)
			}
		}
		if len(s.asked) != 2 {
			t.Errorf("asked for %v, want 1 twice, because the first time there was no answer", s.asked)
		}

		s.hidden = nil
		<-time.After(time.Minute)
		for range 3 {
			if got := values(t, k, "key/a", time.Second) + values(t, k, "key/b", time.Hour); got != "" {
				t.Errorf("found %q, which is gone", got)
			}
		}
		if len(s.asked) != 4 || len(k.unlisted) > 0 {
			t.Errorf("asked for %v, still missed %v; want both asked for once more", s.asked, k.unlisted)
		}
	})
}

// TestMissingIsRequested: what another object uses and no list has shown is asked for, and what does not exist once a
// minute.
func TestMissingIsRequested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "listed"}}}
		s.hidden, s.failure = []object{{"2", "a", "hidden"}}, errors.New("no answer")
		k := s.askable()
		values(t, k, "key/a", time.Hour)
		if _, err := k.RequestMissing(t.Context(), []string{"1", "2"}); err == nil || err.Error() !=
			"asking for 2 of the objects, which the list lacks and another object uses: no answer" {
			t.Errorf("error %v", err)
		}
		s.failure = nil
		for i := range 3 {
			stored, err := k.RequestMissing(t.Context(), []string{"1", "2", "3"})
			if stored != (i == 0) || err != nil {
				t.Errorf("stored %t, error %v; want it stored once", stored, err)
			}
		}
		if got := fmt.Sprint(s.asked); got != "[2 2 3]" {
			t.Errorf("asked for %s, want 2 twice, because the first time there was no answer, and 3", got)
		}
		<-time.After(2 * time.Minute)
		if _, err := k.RequestMissing(t.Context(), []string{"3"}); err != nil || len(s.asked) != 4 {
			t.Errorf("asked for %v, error %v; want 3 again", s.asked, err)
		}
	})
}

// TestWhatWeDeletedIsNotAskedFor, nor what a list showed on its way out, or shows again.
func TestWhatWeDeletedIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "dropped"}, {"2", "a", "deleting"}, {"3", "a", "back again"}}}
		k := s.askable()
		k.Deleting = func(o object) bool { return o.value == "deleting" }
		values(t, k, "key/a", time.Hour)
		k.Drop("1")
		s.set()
		<-time.After(time.Minute)
		values(t, k, "key/b", time.Second)
		s.set(object{"3", "a", "back again"})
		<-time.After(time.Minute)
		if got := values(t, k, "key/a", time.Second); got != "back again" || len(s.asked) > 0 {
			t.Errorf("found %q, asked for %v; want no question", got, s.asked)
		}
	})
}

// TestCreatedIsAskedForOnceShown: where a second one does little harm, and a list has shown what we created, the next
// one that lacks it is checked at once. Before that no list is proof of anything, and nobody asks.
func TestCreatedIsAskedForOnceShown(t *testing.T) {
	made := object{"1", "a", "new"}
	tests := map[string]struct {
		replaceable bool
		shown       bool
		hidden      []object // what only asking shows
		want        string
		asked       int
	}{
		"removed":                         {true, true, nil, "", 1},
		"left out by a list":              {true, true, []object{made}, "new", 1},
		"not shown yet":                   {true, false, nil, "new", 0},
		"a second one would do much harm": {false, true, nil, "new", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{hidden: tt.hidden}
				k := s.askable()
				k.ToleratesDuplicates = tt.replaceable
				k.PutCreated(made)
				if tt.shown {
					s.set(made)
				}
				values(t, k, "key/a", Fresh)
				s.set()
				if got := values(t, k, "key/a", Fresh); got != tt.want || len(s.asked) != tt.asked {
					t.Errorf("found %q, asked for %v; want %q and %d questions", got, s.asked, tt.want, tt.asked)
				}
			})
		})
	}
}

// TestListFromBeforeShowsNothing of what was created while it was under way.
func TestListFromBeforeShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		k := s.askable()
		k.ToleratesDuplicates = true
		done := make(chan error)
		go func() {
			_, err := k.Find(t.Context(), "key/a", Fresh)
			done <- err
		}()
		synctest.Wait() // the list is under way
		k.PutCreated(object{"1", "a", "new"})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := values(t, k, "key/a", Fresh); got != "new" || len(s.asked) > 0 {
			t.Errorf("found %q, asked for %v; want what we created, and no question", got, s.asked)
		}
	})
}

// TestFewerThanExpectedTakesTwoLists, the first two of a process; later ones have one before them.
func TestFewerThanExpectedTakesTwoLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{objects: []object{{"1", "a", "x"}}}
		k := s.kind()
		for _, look := range []struct{ expected, lists int }{{0, 1}, {1, 1}, {2, 2}, {2, 2}, {3, 2}} {
			if found, err := k.FindExpected(t.Context(), "key/a", time.Hour, look.expected); len(found) != 1 ||
				err != nil || s.lists != look.lists {
				t.Errorf("%d expected: found %v, error %v, %d lists; want %d", look.expected, found, err, s.lists,
					look.lists)
			}
		}
	})
}

// TestUnlistedExpires when nobody looks for it: others make and delete objects for ever.
func TestUnlistedExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		k := s.askable()
		for i := range 20 {
			s.set(object{string(rune('a' + i)), "others", "x"})
			values(t, k, "key/ours", time.Second)
			<-time.After(unlistedTTL / 5)
		}
		if len(k.unlisted) > 6 || len(s.asked) > 0 {
			t.Errorf("%d are remembered, asked for %v", len(k.unlisted), s.asked)
		}
	})
}

// shelfOf is one with so many objects of the same key.
func shelfOf(count int) *shelf {
	s := &shelf{}
	for i := range count {
		s.objects = append(s.objects, object{fmt.Sprint(i), "a", "x"})
	}
	return s
}

// TestManyMissedAreListedAgain: a list that lacks more than a few is not believed enough to ask for each.
func TestManyMissedAreListedAgain(t *testing.T) {
	for count, want := range map[int]struct{ lists, asked int }{
		relistAbove: {2, relistAbove}, relistAbove + 1: {3, 0}, 5 * maxConfirmations: {3, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := shelfOf(count)
			s.hidden = s.objects
			k := s.askable()
			values(t, k, "key/a", time.Hour)
			s.emptyOnce()
			found, err := k.Find(t.Context(), "key/a", Fresh)
			if len(found) != count || err != nil || s.lists != want.lists || len(s.asked) != want.asked {
				t.Errorf("of %d: %d found, error %v, %d lists, %d asked for; want %+v", count, len(found), err, s.lists,
					len(s.asked), want)
			}
		})
	}
}

// TestMissedByTwoListsAreAskedForInTurns: no look takes for ever, none says that there is nothing before all were asked
// for, and none lists once more for what two lists have lacked.
func TestMissedByTwoListsAreAskedForInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shelfOf(2*maxConfirmations + 1)
		s.hidden = []object{{"7", "a", "the only one that is left"}}
		k := s.askable()
		values(t, k, "key/a", time.Hour)
		s.set()
		<-time.After(time.Minute)
		for turn := 1; turn <= 2; turn++ {
			if found, err := k.Find(t.Context(), "key/a", time.Second); err == nil ||
				len(s.asked) != turn*maxConfirmations {
				t.Errorf("turn %d: %d found, error %v, %d asked for; want an error and %d", turn, len(found), err,
					len(s.asked), turn*maxConfirmations)
			}
		}
		if got := values(t, k, "key/a", time.Hour); got != "the only one that is left" ||
			len(s.asked) != 2*maxConfirmations+1 {
			t.Errorf("found %q, %d asked for", got, len(s.asked))
		}
		if s.lists != 3 {
			t.Errorf("%d lists, want the first, the one that lacked them, and another one", s.lists)
		}
	})
}

// TestManyMissedAndNoAnswer: the list that would tell failed, so nothing is known.
func TestManyMissedAndNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shelfOf(relistAbove + 1)
		k := s.askable()
		values(t, k, "key/a", time.Hour)
		s.set()
		k.List = func(context.Context) ([]object, error) {
			if k.listCount > 1 {
				return nil, errors.New("no answer")
			}
			return nil, nil
		}
		if found, err := k.Find(t.Context(), "key/a", Fresh); err == nil || len(s.asked) > 0 {
			t.Errorf("%d found, error %v, %d asked for", len(found), err, len(s.asked))
		}
	})
}
