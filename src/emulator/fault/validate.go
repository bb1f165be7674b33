package fault

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/spelling"
)

// trait is what a kind of fault is like.
type trait struct {
	kind Kind
	// refusal is the status that the kind refuses calls with; 0: it does not.
	refusal int
	// lowest and highest bound Effect.Status; both 0: it cannot be chosen.
	lowest, highest int
	delays          bool
}

// allTraits has an entry for every kind.
func allTraits() []trait {
	return []trait{
		{kind: Latency, delays: true},
		{kind: Hang},
		{kind: Refuse, refusal: http.StatusServiceUnavailable, lowest: 300, highest: 599},
		{kind: Unauthorised, refusal: http.StatusUnauthorized},
		{kind: Forbidden, refusal: http.StatusForbidden},
		{kind: Quota, refusal: http.StatusForbidden, lowest: 400, highest: 599},
		{kind: Reset},
		{kind: NotJSON, lowest: 200, highest: 599},
		{kind: Drop},
		{kind: Truncate},
		{kind: Malformed},
		{kind: Empty},
		{kind: NoContent},
		{kind: Partial},
		{kind: Stale, delays: true},
		{kind: DeleteLag, delays: true},
	}
}

// Kinds are all kinds of faults.
func Kinds() []Kind {
	var kinds []Kind
	for _, t := range allTraits() {
		kinds = append(kinds, t.kind)
	}
	return kinds
}

func (k Kind) trait() (trait, error) {
	all := allTraits()
	if i := slices.IndexFunc(all, func(t trait) bool { return t.kind == k }); i >= 0 {
		return all[i], nil
	}
	return trait{}, fmt.Errorf("effect.kind is %q: %s", k, suggest(string(k), texts(Kinds())))
}

// suggest says which words are allowed instead of one that is not.
func suggest(word string, allowed []string) string {
	if closest, found := spelling.Closest(word, allowed); found {
		return fmt.Sprintf("did you mean %q?", closest)
	}
	return "use one of " + strings.Join(allowed, ", ")
}

func texts(kinds []Kind) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return out
}

// Validate checks that the rule makes sense. Its errors name the key, as it is
// written in JSON, the value and what is allowed.
func (r Rule) Validate() error {
	if strings.ContainsFunc(r.ID, outsideOfID) {
		return fmt.Errorf("id is %q: use letters, digits, dots, hyphens and underscores only", r.ID)
	}
	if r.Path != "" && !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "*") {
		return fmt.Errorf("path is %q: it must begin with / or *", r.Path)
	}
	switch {
	case r.Skip < 0:
		return fmt.Errorf("skip is %d: it must be 0 or more", r.Skip)
	case r.Count < 0:
		return fmt.Errorf("count is %d: it must be 0 or more", r.Count)
	case math.IsNaN(r.Probability) || r.Probability < 0 || r.Probability > 1:
		return fmt.Errorf("probability is %v: it must be 0 to 1", r.Probability)
	case r.From < 0:
		return fmt.Errorf("from is %s: it must be 0 or more", r.From)
	case r.Until != 0 && r.Until <= r.From:
		return fmt.Errorf("until is %s: it must be later than from, which is %s, or 0 for no end", r.Until, r.From)
	}
	return r.Effect.validate()
}

func outsideOfID(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(".-_", c)
}

func (e Effect) validate() error {
	if e.Kind == "" {
		return fmt.Errorf("effect.kind is missing: use one of %s", strings.Join(texts(Kinds()), ", "))
	}
	t, err := e.Kind.trait()
	if err != nil {
		return err
	}
	if err := e.validateRefusal(t); err != nil {
		return err
	}
	switch {
	case t.delays && e.Delay <= 0:
		return fmt.Errorf("effect.delay is %s: kind %s needs one above 0, such as 1.5s", e.Delay, e.Kind)
	case !t.delays && e.Delay != 0:
		return unused("delay", e.Delay, e.Kind)
	}
	return nil
}

func (e Effect) validateRefusal(t trait) error {
	switch {
	case e.Kind == Refuse && e.Status == 0:
		return fmt.Errorf("effect.status is missing: kind %s needs one of %d to %d", e.Kind, t.lowest, t.highest)
	case e.Status != 0 && t.highest == 0:
		return unused("status", e.Status, e.Kind)
	case e.Status != 0 && (e.Status < t.lowest || e.Status > t.highest):
		return fmt.Errorf("effect.status is %d: kind %s takes %d to %d", e.Status, e.Kind, t.lowest, t.highest)
	case e.Message != "" && t.refusal == 0:
		return unused("message", e.Message, e.Kind)
	case e.RetryAfter != 0 && t.refusal == 0:
		return unused("retryAfter", e.RetryAfter, e.Kind)
	case e.RetryAfter < 0 || e.RetryAfter > 24*time.Hour:
		return fmt.Errorf("effect.retryAfter is %s: it must be 0 to 24h", e.RetryAfter)
	}
	return nil
}

func unused(key string, value any, kind Kind) error {
	return fmt.Errorf("effect.%s is %v: kind %s does not use it, leave it out", key, value, kind)
}
