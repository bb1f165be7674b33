package event

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// inLog runs a test in virtual time.
func inLog(t *testing.T, test func(*testing.T, *Log)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, &Log{}) })
}

// said are the messages of what is told now.
func said(l *Log, name, uid string, notices ...Notice) string {
	var messages []string
	for _, n := range l.Note(name, types.UID(uid), notices) {
		messages = append(messages, n.Message)
	}
	return strings.Join(messages, ", ")
}

// TestOnce: the same is told once, and again when it lasts, was over in between, or is of another object of that name.
func TestOnce(t *testing.T) {
	broken, slow := Notice{Reason: "Broken", Message: "it is broken"}, Notice{Reason: "Slow", Message: "it is slow"}
	inLog(t, func(t *testing.T, l *Log) {
		t.Helper()
		for _, step := range []struct {
			what    string
			after   time.Duration
			uid     string
			notices []Notice
			want    string
		}{
			{"the first time", 0, "1", []Notice{broken}, "it is broken"},
			{"twice at once, and something else", time.Minute, "1", []Notice{broken, slow, slow}, "it is slow"},
			{"the same", time.Minute, "1", []Notice{broken, slow}, ""},
			{"one lasts", Again - 2*time.Minute, "1", []Notice{broken, slow}, "it is broken"},
			{"the other one lasts", time.Minute, "1", []Notice{broken, slow}, "it is slow"},
			{"one is over", time.Minute, "1", []Notice{slow}, ""},
			{"it comes back", time.Minute, "1", []Notice{broken, slow}, "it is broken"},
			{"all is over", time.Minute, "1", nil, ""},
			{"all comes back", time.Minute, "1", []Notice{broken, slow}, "it is broken, it is slow"},
			{"another object", time.Minute, "2", []Notice{broken}, "it is broken"},
		} {
			<-time.After(step.after)
			if got := said(l, "a", step.uid, step.notices...); got != step.want {
				t.Errorf("%s: told %q, want %q", step.what, got, step.want)
			}
		}
		l.Forget("a")
		if got := said(l, "a", "2", broken); got != broken.Message {
			t.Errorf("told %q of an object that was forgotten", got)
		}
		l.Retain(func(uid types.UID) bool { return uid != "2" })
		if got := said(l, "a", "2", broken); got != broken.Message {
			t.Errorf("told %q of an object that was not there", got)
		}
	})
}

// TestManyObjects: not all is told at a time, and nothing is left out.
func TestManyObjects(t *testing.T) {
	inLog(t, func(t *testing.T, l *Log) {
		t.Helper()
		told := map[string]bool{}
		round := func() int {
			for i := range 3 * Burst {
				if name := fmt.Sprint(i); said(l, name, name, Notice{Reason: "Broken", Message: "broken"}) != "" {
					told[name] = true
				}
			}
			return len(told)
		}
		var counts []int
		for range 4 {
			counts = append(counts, round())
			<-time.After(time.Minute)
		}
		if diff := cmp.Diff([]int{Burst, 2 * Burst, 3 * Burst, 3 * Burst}, counts); diff != "" {
			t.Errorf("objects that were told of, by minutes (-want +got):\n%s", diff)
		}
	})
}

// TestVague: what is told in other words each time is told once.
func TestVague(t *testing.T) {
	inLog(t, func(t *testing.T, l *Log) {
		t.Helper()
		for attempt := range 3 {
			words := Notice{Reason: "Away", Message: fmt.Sprintf("attempt %d", attempt), Vague: true}
			if got, want := said(l, "a", "1", words), map[bool]string{true: "attempt 0"}[attempt == 0]; got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		}
	})
}

// TestCommon: what is nothing of the object's own is told of one of them, once for as long as an event is kept.
func TestCommon(t *testing.T) {
	inLog(t, func(t *testing.T, l *Log) {
		t.Helper()
		refused := Notice{Reason: "Refused", Message: "refused", Common: true}
		count := 0
		for range 2 {
			for i := range 10 {
				if said(l, fmt.Sprint(i), "1", refused) != "" {
					count++
				}
			}
			<-time.After(Again)
		}
		if count != 2 {
			t.Errorf("told %d times, want twice", count)
		}
	})
}

// TestKnown: what was told lately needs no other look.
func TestKnown(t *testing.T) {
	inLog(t, func(t *testing.T, l *Log) {
		t.Helper()
		broken, slow := Notice{Reason: "Broken"}, Notice{Reason: "Slow"}
		l.Note("a", "1", []Notice{broken, slow})
		l.Note("b", "2", []Notice{broken})
		for what, tt := range map[string]struct {
			name    string
			notices []Notice
			want    bool
		}{
			"the same":          {"a", []Notice{slow, broken}, true},
			"fewer":             {"a", []Notice{slow}, false},
			"others":            {"a", []Notice{slow, {Reason: "New"}}, false},
			"nothing of nobody": {"c", nil, true},
		} {
			if got := l.Known(tt.name, tt.notices); got != tt.want {
				t.Errorf("%s: got %v", what, got)
			}
		}
		if diff := cmp.Diff(map[string]int{"Broken": 2, "Slow": 1}, l.Reasons()); diff != "" {
			t.Errorf("objects by reasons (-want +got):\n%s", diff)
		}
		<-time.After(Again)
		if l.Known("a", []Notice{broken, slow}) {
			t.Error("what is to be told again counts as known")
		}
	})
}
