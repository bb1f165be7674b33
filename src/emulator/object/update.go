package object

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// UpdateRules decide what a PUT does to settings that its body leaves out.
type UpdateRules struct {
	Merge bool
	// ReplaceAll clears also what Settled keeps.
	ReplaceAll bool
	// NullRemoves makes "healthCheck": null more than a setting left out.
	NullRemoves bool
	// Longest bounds names and descriptions.
	Longest Lengths
}

// HealthCheck is the health check after an update.
func (r UpdateRules) HealthCheck(sent wire.Nullable[wire.HealthCheck], current *wire.HealthCheck) *wire.HealthCheck {
	if sent.Null() && r.NullRemoves {
		return nil
	}
	return Optional(r, sent.Value, current)
}

// Value is a setting after an update: what was sent, or else the current value
// (merge) or nothing (replace).
func Value[T any](r UpdateRules, sent *T, current T) T {
	var none T
	switch {
	case sent != nil:
		return *sent
	case r.Merge:
		return current
	}
	return none
}

// Optional is value for settings that may be unset.
func Optional[T any](r UpdateRules, sent, current *T) *T {
	if sent == nil && r.Merge {
		return current
	}
	return sent
}

// StringMap is value for labels and the like.
func StringMap(r UpdateRules, sent, current map[string]string) map[string]string {
	if sent == nil && r.Merge {
		return current
	}
	return Copied(sent)
}

// Items is value for lists: an empty one that was sent clears in either mode.
func Items[T any](r UpdateRules, sent, current []T) []T {
	if sent == nil && r.Merge {
		return current
	}
	return sent
}

// Kept is a setting whose absence means "unchanged" in either mode.
func Kept[T any](sent *T, current T) T {
	if sent != nil {
		return *sent
	}
	return current
}

// Settled is value for settings that clients leave out when they have not changed.
func Settled[T any](r UpdateRules, sent *T, current T) T {
	return Value(UpdateRules{Merge: !r.ReplaceAll}, sent, current)
}

// Describe applies an update to the meta data of an object.
func (m *Record) Describe(r UpdateRules, name, description *string, labels, annotations map[string]string,
	now time.Time) error {
	next := Spec{
		Name: Value(r, name, m.Name), Description: Value(r, description, m.Description),
		Labels: StringMap(r, labels, m.Labels), Annotations: StringMap(r, annotations, m.Annotations),
		Longest: r.Longest,
	}
	if err := CheckMeta(next); err != nil {
		return err
	}
	m.Name, m.Description, m.Labels, m.Annotations = next.Name, next.Description, next.Labels, next.Annotations
	m.Touch(now)
	return nil
}
