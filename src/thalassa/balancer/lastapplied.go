package balancer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// Annotations on cloud objects, which record what this program created and set. An object without them was created by
// others, or by the existing CCM. Values of such an object change only if its Service asks for others.
const (
	// annotationCreatedBy is the program that created the object.
	annotationCreatedBy = "k8s.thalassa.cloud/created-by"
	createdByUs         = "thalassa-ccm"
	// annotationApplied contains the values that this program set and has to remove again: a JSON object, setting ->
	// values.
	annotationApplied = "k8s.thalassa.cloud/applied"
	// annotationAdoptable names the Service that may adopt a load balancer: cluster/namespace/name.
	annotationAdoptable = "k8s.thalassa.cloud/adoptable-by"
)

// lastApplied is the last-applied record of a cloud object: whether this program created it, and the values that it set
// there in addition to those that every object has.
type lastApplied struct {
	created bool
	// setting -> the values that were set, sorted; empty for a setting with one value
	applied map[string][]string
}

// lastAppliedOf reads the record from an object's annotations. A record that cannot be read counts as empty, so that
// less is undone.
func lastAppliedOf(annotations resource.Labels) lastApplied {
	r := lastApplied{created: annotations[annotationCreatedBy] == createdByUs}
	if text, found := annotations[annotationApplied]; found {
		_ = json.Unmarshal([]byte(text), &r.applied)
	}
	return r
}

// has reports whether the record contains the setting.
func (r lastApplied) has(setting string) bool {
	_, found := r.applied[setting]
	return found
}

// with returns the record with the setting's values; there may be none.
func (r lastApplied) with(setting string, values ...string) lastApplied {
	applied := maps.Clone(r.applied)
	if applied == nil {
		applied = map[string][]string{}
	}
	applied[setting] = append([]string{}, values...)
	slices.Sort(applied[setting])
	r.applied = applied
	return r
}

// without returns the record without the setting.
func (r lastApplied) without(setting string) lastApplied {
	if r.has(setting) {
		r.applied = maps.Clone(r.applied)
		delete(r.applied, setting)
	}
	return r
}

// mergedInto returns the annotations with the record in them. Annotations of others stay.
func (r lastApplied) mergedInto(present resource.Labels) resource.Labels {
	annotations := resource.Labels{}
	maps.Copy(annotations, present)
	delete(annotations, annotationApplied)
	if annotations[annotationCreatedBy] == createdByUs {
		delete(annotations, annotationCreatedBy) // it was created for another Service, unless the record says otherwise
	}
	if r.created {
		annotations[annotationCreatedBy] = createdByUs
	}
	if len(r.applied) > 0 {
		text, err := json.Marshal(r.applied)
		if err == nil { // encoding strings does not fail
			annotations[annotationApplied] = string(text)
		}
	}
	return annotations
}

// addRecordChanges adds a line if the record loses entries: a wrong entry would later remove a value of others. Other
// changes of the record alone do not cause a write: the deletion policy is compared elsewhere, and that there was a
// security group only costs a list.
func addRecordChanges(c *changes, from, to resource.Labels) {
	before := lastAppliedOf(from).without(settingRetain).without(settingOwnGroup)
	after := lastAppliedOf(to).without(settingRetain).without(settingOwnGroup)
	lose := func(entry string) { *c = append(*c, fmt.Sprintf("the %s is no longer managed by this Service", entry)) }
	for _, setting := range slices.Sorted(maps.Keys(before.applied)) {
		if !after.has(setting) {
			lose(setting)
			continue
		}
		for _, value := range before.applied[setting] {
			if !slices.Contains(after.applied[setting], value) {
				lose(strings.TrimSuffix(setting, "s") + " " + value)
			}
		}
	}
}

// onDelete returns the value of the annotation on-delete that the record stands for.
func (r lastApplied) onDelete() string {
	if r.has(settingRetain) {
		return onDeleteKeep
	}
	return onDeleteDelete
}

// desiredValue returns the value that an object should have for a setting: the one that the Service asks for, else the
// default. The observed value stays if the setting is not valid. It also stays if this program did not create the
// object, and the record does not show that its Service asked for another one before.
func desiredValue[T any](r *lastApplied, setting string, asked annotation.Setting[T], observed T) T {
	switch {
	case asked.Invalid:
		return observed
	case asked.Given && !r.created:
		*r = r.with(setting)
	case asked.Given || r.created:
	case r.has(setting):
		*r = r.without(setting)
	default:
		return observed
	}
	return asked.Value
}
