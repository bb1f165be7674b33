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

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(*testing.T, *Filter)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, &Filter{}) })
}

// recordedNow returns the messages of the warnings that become events now.
func recordedNow(f *Filter, name, uid string, warnings ...Warning) string {
	var messages []string
	for _, n := range f.Update(name, types.UID(uid), warnings) {
		messages = append(messages, n.Message)
	}
	return strings.Join(messages, ", ")
}

// TestOnce: a warning becomes an event once, and again if it lasts, was over in between, or is about another object of
// that name.
func TestOnce(t *testing.T) {
	broken, slow := Warning{Reason: "Broken", Message: "it is broken"}, Warning{Reason: "Slow", Message: "it is slow"}
	inBubble(t, func(t *testing.T, f *Filter) {
		t.Helper()
		for _, step := range []struct {
			what     string
			after    time.Duration
			uid      string
			warnings []Warning
			want     string
		}{
			{"the first time", 0, "1", []Warning{broken}, "it is broken"},
			{"twice at once, and something else", time.Minute, "1", []Warning{broken, slow, slow}, "it is slow"},
			{"the same", time.Minute, "1", []Warning{broken, slow}, ""},
			{"one lasts", Again - 2*time.Minute, "1", []Warning{broken, slow}, "it is broken"},
			{"the other one lasts", time.Minute, "1", []Warning{broken, slow}, "it is slow"},
			{"one is over", time.Minute, "1", []Warning{slow}, ""},
			{"it comes back", time.Minute, "1", []Warning{broken, slow}, "it is broken"},
			{"all is over", time.Minute, "1", nil, ""},
			{"all comes back", time.Minute, "1", []Warning{broken, slow}, "it is broken, it is slow"},
			{"another object", time.Minute, "2", []Warning{broken}, "it is broken"},
		} {
			<-time.After(step.after)
			if got := recordedNow(f, "a", step.uid, step.warnings...); got != step.want {
				t.Errorf("%s: events %q, want %q", step.what, got, step.want)
			}
		}
		f.Forget("a")
		if got := recordedNow(f, "a", "2", broken); got != broken.Message {
			t.Errorf("events %q of an object that was forgotten", got)
		}
		f.Retain(func(uid types.UID) bool { return uid != "2" })
		if got := recordedNow(f, "a", "2", broken); got != broken.Message {
			t.Errorf("events %q of an object that does not exist", got)
		}
	})
}

// TestManyObjects: not all warnings become events at the same time, and none is lost.
func TestManyObjects(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Filter) {
		t.Helper()
		recorded := map[string]bool{}
		round := func() int {
			for i := range 3 * Burst {
				if name := fmt.Sprint(i); recordedNow(f, name, name,
					Warning{Reason: "Broken", Message: "broken"}) != "" {
					recorded[name] = true
				}
			}
			return len(recorded)
		}
		var counts []int
		for range 4 {
			counts = append(counts, round())
			<-time.After(time.Minute)
		}
		if diff := cmp.Diff([]int{Burst, 2 * Burst, 3 * Burst, 3 * Burst}, counts); diff != "" {
			t.Errorf("objects with an event, by minutes (-want +got):\n%s", diff)
		}
	})
}

// TestVague: a warning whose message changes each time becomes one event.
func TestVague(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Filter) {
		t.Helper()
		for attempt := range 3 {
			words := Warning{Reason: "Away", Message: fmt.Sprintf("attempt %d", attempt), Vague: true}
			if got, want := recordedNow(f, "a", "1", words),
				map[bool]string{true: "attempt 0"}[attempt == 0]; got != want {
				t.Errorf("events %q, want %q", got, want)
			}
		}
	})
}

// TestCommon: a warning that all objects have becomes an event of one of them, once for as long as an event is kept.
func TestCommon(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Filter) {
		t.Helper()
		refused := Warning{Reason: "Refused", Message: "refused", Common: true}
		count := 0
		for range 2 {
			for i := range 10 {
				if recordedNow(f, fmt.Sprint(i), "1", refused) != "" {
					count++
				}
			}
			<-time.After(Again)
		}
		if count != 2 {
			t.Errorf("%d events, want 2", count)
		}
	})
}

// TestKnown: a warning that recently became an event is known.
func TestKnown(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Filter) {
		t.Helper()
		broken, slow := Warning{Reason: "Broken"}, Warning{Reason: "Slow"}
		f.Update("a", "1", []Warning{broken, slow})
		f.Update("b", "2", []Warning{broken})
		for what, tt := range map[string]struct {
			name     string
			warnings []Warning
			want     bool
		}{
			"the same":          {"a", []Warning{slow, broken}, true},
			"fewer":             {"a", []Warning{slow}, false},
			"others":            {"a", []Warning{slow, {Reason: "New"}}, false},
			"nothing of nobody": {"c", nil, true},
		} {
			if got := f.Known(tt.name, tt.warnings); got != tt.want {
				t.Errorf("%s: got %v", what, got)
			}
		}
		if diff := cmp.Diff(map[string]int{"Broken": 2, "Slow": 1}, f.Reasons()); diff != "" {
			t.Errorf("objects by reasons (-want +got):\n%s", diff)
		}
		<-time.After(Again)
		if f.Known("a", []Warning{broken, slow}) {
			t.Error("a warning counts as known that is to become an event again")
		}
	})
}

// TestTopic: a warning with a topic becomes an event again when its message changes, but not at once, and never if it
// is vague. It does not replace other warnings of the object.
func TestTopic(t *testing.T) {
	inBubble(t, func(t *testing.T, f *Filter) {
		t.Helper()
		for _, step := range []struct {
			what, topic, message string
			vague                bool
			after                time.Duration
			want                 bool
		}{
			{"the first time", "refused", "attempt 1", false, 0, true},
			{"another topic", "no answer", "attempt 2", false, time.Minute, true},
			{"another message at once", "refused", "attempt 3", false, time.Minute, false},
			{"another message later", "refused", "attempt 4", false, Anew - 2*time.Minute, true},
			{"the same message", "refused", "attempt 4", false, Anew, false},
			{"another message of a vague one", "refused", "attempt 5", true, Anew, false},
			{"it lasts", "refused", "attempt 4", false, Again - 2*Anew, true},
		} {
			<-time.After(step.after)
			w := Warning{Reason: "Broken", Message: step.message, Topic: step.topic, Vague: step.vague}
			if got := f.Add("a", "1", w); got != step.want {
				t.Errorf("%s: event %v, want %v", step.what, got, step.want)
			}
		}
		if !f.Add("a", "2", Warning{Reason: "Broken", Message: "attempt 4", Topic: "refused"}) {
			t.Error("no event of another object of the name")
		}
		if f.Forget("a"); !f.Add("a", "2", Warning{Reason: "Broken", Message: "attempt 4", Topic: "refused"}) {
			t.Error("no event of an object that was forgotten")
		}
	})
}
