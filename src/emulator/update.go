package emulator

import (
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// rules decide what a PUT does to settings that its body leaves out.
type rules struct {
	merge bool
	// nullRemoves makes "healthCheck": null more than a setting left out.
	nullRemoves bool
}

func (e *Emulator) rules() rules {
	return rules{merge: e.switches.Updates == Merge, nullRemoves: e.switches.NullRemovesHealthCheck}
}

// healthCheck is the health check after an update.
func (r rules) healthCheck(sent wire.Nullable[wire.HealthCheck], current *wire.HealthCheck) *wire.HealthCheck {
	if sent.Null() && r.nullRemoves {
		return nil
	}
	return optional(r, sent.Value, current)
}

// value is a setting after an update: what was sent, or else the current value
// (merge) or nothing (replace).
func value[T any](r rules, sent *T, current T) T {
	var none T
	switch {
	case sent != nil:
		return *sent
	case r.merge:
		return current
	}
	return none
}

// optional is value for settings that may be unset.
func optional[T any](r rules, sent, current *T) *T {
	if sent == nil && r.merge {
		return current
	}
	return sent
}

// stringMap is value for labels and the like.
func stringMap(r rules, sent, current map[string]string) map[string]string {
	if sent == nil && r.merge {
		return current
	}
	return copied(sent)
}

// kept is a setting whose absence means "unchanged" in either mode.
func kept[T any](sent *T, current T) T {
	if sent != nil {
		return *sent
	}
	return current
}

// describe applies an update to the meta data of an object.
func (m *meta) describe(r rules, name, description *string, labels, annotations map[string]string, now time.Time) error {
	next := spec{
		name: value(r, name, m.Name), description: value(r, description, m.Description),
		labels: stringMap(r, labels, m.Labels), annotations: stringMap(r, annotations, m.Annotations),
	}
	if err := checkMeta(next); err != nil {
		return err
	}
	m.Name, m.Description, m.Labels, m.Annotations = next.name, next.description, next.labels, next.annotations
	m.touch(now)
	return nil
}
