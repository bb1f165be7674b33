// Package object provides what all objects of the cloud have in common: meta data, a life cycle, collections in which
// they
// are found, and the filters of lists.
package object

import (
	"maps"
	"strings"
	"time"

	"github.com/rs/xid"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Record is the part that all stored objects share. Its maps, like all maps and
// slices in the store, are replaced and never modified in place: responses
// built from them are encoded after the store's lock is released.
type Record struct{ wire.Meta }

// Key implements object.Keyed.
func (m *Record) Key() (identity, slug string) { return m.Identity, m.Slug }

// Touch records a change.
func (m *Record) Touch(now time.Time) {
	m.UpdatedAt = now
	m.ObjectVersion++
}

// Nested is the object's description inside another object.
func (m *Record) Nested() wire.Meta { return m.Meta }

// Spec is what the creator of an object chooses about its meta data. Identity
// and slug are chosen by seeds only.
type Spec struct {
	Identity, Name, Slug, Description string
	Labels, Annotations               map[string]string
	// Longest bounds the name and the description.
	Longest Lengths
}

// NewRecord makes the meta data of a new object. The identity is
// `<prefix>-<20 characters>`, the slug is made from the name and, when taken,
// made unique by the end of the identity.
func NewRecord(prefix string, s Spec, slugTaken func(string) bool, now time.Time) Record {
	if s.Identity == "" {
		s.Identity = NewIdentity(prefix)
	}
	if s.Slug == "" {
		s.Slug = Slugify(s.Name)
	}
	if slugTaken(s.Slug) {
		s.Slug += "-" + s.Identity[max(0, len(s.Identity)-8):]
	}
	return Record{Meta: wire.Meta{
		Identity: s.Identity, Name: s.Name, Slug: s.Slug, Description: s.Description,
		CreatedAt: now, UpdatedAt: now, ObjectVersion: 1,
		Labels: Copied(s.Labels), Annotations: Copied(s.Annotations),
	}}
}

// Written is an object with the times and the version of a seed, as far as there are some.
func Written(r Record, created, updated time.Time, version int) Record {
	if !created.IsZero() {
		r.CreatedAt, r.UpdatedAt = created, created
	}
	if !updated.IsZero() {
		r.UpdatedAt = updated
	}
	r.ObjectVersion = max(version, 1)
	return r
}

// NewIdentity makes a unique identity: `<prefix>-<20 characters>`.
func NewIdentity(prefix string) string { return prefix + "-" + xid.New().String() }

// Slugify turns a name into lower case letters, digits and hyphens.
func Slugify(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return '-'
	}, name)
}

// Copied is a copy of m that is never nil, so that it reads {} on the wire.
func Copied(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// List makes a nil list read [] on the wire.
func List[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// Described is an object with meta data.
type Described interface {
	Keyed
	Nested() wire.Meta
}

// Living is an object that takes time to come and go.
type Living interface {
	Described
	Active() bool
}

// Referred finds the object that a field of a request names.
func Referred[T Living](among *Collection[T], field, kind, ref string) (T, error) {
	object, found := among.Find(ref)
	switch {
	case !found:
		return object, apierror.Invalid("field %q: %s %q not found", field, kind, ref)
	case !object.Active():
		return object, apierror.Conflict("field %q: %s %q is being deleted", field, kind, ref)
	}
	return object, nil
}

// StatusReady is the status of an object that can be used.
const StatusReady = "ready"
