package thalassa

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Annotations on cloud objects, in which they remember what is ours about them. An object without them was made by
// others, or by the existing CCM, and nothing about it is undone that nobody asks to undo.
const (
	// annotationCreatedBy says who made the object.
	annotationCreatedBy = "k8s.thalassa.cloud/created-by"
	createdByUs         = "thalassa-ccm"
	// annotationApplied is what we have put there and have to take away again: a JSON object, setting -> values.
	annotationApplied = "k8s.thalassa.cloud/applied"
	// annotationAdoptable names the Service that may adopt a load balancer: cluster/namespace/name.
	annotationAdoptable = "k8s.thalassa.cloud/adoptable-by"
)

// traces is what an object of the cloud remembers: whether we made it, and what we have put there beside what everybody
// has.
type traces struct {
	created bool
	// setting -> the values that we put there, sorted; empty for a setting that is one value
	applied map[string][]string
}

// tracesOf reads an object's annotations. What cannot be read is nothing: then less is undone.
func tracesOf(annotations inventory.Labels) traces {
	r := traces{created: annotations[annotationCreatedBy] == createdByUs}
	if text, found := annotations[annotationApplied]; found {
		_ = json.Unmarshal([]byte(text), &r.applied)
	}
	return r
}

// has says whether we have put something there for the setting.
func (r traces) has(setting string) bool {
	_, found := r.applied[setting]
	return found
}

// with returns the traces with the setting's values, also when there are none.
func (r traces) with(setting string, values ...string) traces {
	applied := maps.Clone(r.applied)
	if applied == nil {
		applied = map[string][]string{}
	}
	applied[setting] = append([]string{}, values...)
	slices.Sort(applied[setting])
	r.applied = applied
	return r
}

// without returns the traces without the setting.
func (r traces) without(setting string) traces {
	if r.has(setting) {
		r.applied = maps.Clone(r.applied)
		delete(r.applied, setting)
	}
	return r
}

// over returns the annotations with the traces in them; what others wrote stays.
func (r traces) over(present inventory.Labels) inventory.Labels {
	annotations := inventory.Labels{}
	maps.Copy(annotations, present)
	delete(annotations, annotationApplied)
	if annotations[annotationCreatedBy] == createdByUs {
		delete(annotations, annotationCreatedBy) // it was made for another Service, if we do not remember it
	}
	if r.created {
		annotations[annotationCreatedBy] = createdByUs
	}
	if len(r.applied) > 0 {
		text, err := json.Marshal(r.applied)
		if err == nil { // strings can always be written
			annotations[annotationApplied] = string(text)
		}
	}
	return annotations
}

// memo is what an object is to remember once it is as it should be.
type memo struct {
	traces
	// free says that the object keeps what it has until its Service asks for something else.
	free bool
}

// memoOf is what an object remembers. Only one that was adopted, and that we have not made, is free.
func memoOf(annotations inventory.Labels, free bool) *memo {
	own := tracesOf(annotations)
	return &memo{traces: own, free: free && !own.created}
}

// noteMemory adds a line when an object is to remember less, because what it remembers wrongly to have from us would be
// taken away from others later; and, of one that keeps its own values, when it is to remember more. Otherwise that
// alone is no reason to write.
func noteMemory(c *changes, from, to inventory.Labels, free bool) {
	before, after := tracesOf(from), tracesOf(to)
	if lost := before.beyond(after); len(lost) > 0 {
		*c = append(*c, "it no longer has from this Service: "+strings.Join(lost, ", "))
	}
	if found := after.beyond(before); free && len(found) > 0 {
		*c = append(*c, "it has from this Service: "+strings.Join(found, ", "))
	}
}

// beyond are the settings, and their values, that are remembered here and not there, sorted.
func (r traces) beyond(other traces) []string {
	var found []string
	for _, setting := range slices.Sorted(maps.Keys(r.applied)) {
		if !other.has(setting) {
			found = append(found, setting)
			continue
		}
		for _, value := range r.applied[setting] {
			if !slices.Contains(other.applied[setting], value) {
				found = append(found, setting+" "+value)
			}
		}
	}
	return found
}

// aim returns the value that an object should have for a setting, given the observed one: what the Service asks for,
// else the default. What cannot be read stays, as does what a free object has that nobody ever asked for.
func aim[T any](m *memo, setting string, asked annotation.Setting[T], observed T) T {
	switch {
	case asked.Invalid:
		return observed
	case asked.Given && m.free:
		m.traces = m.with(setting)
	case asked.Given || !m.free:
	case m.has(setting):
		m.traces = m.without(setting)
	default:
		return observed
	}
	return asked.Value
}
