package emulator

import (
	"maps"
	"strings"
	"time"

	"github.com/rs/xid"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// meta is the part that all stored objects share. Its maps, like all maps and
// slices in the store, are replaced and never modified in place: responses
// built from them are encoded after the store's lock is released.
type meta struct{ wire.Meta }

func (m *meta) key() (identity, slug string) { return m.Identity, m.Slug }

// touch records a change.
func (m *meta) touch(now time.Time) {
	m.UpdatedAt = now
	m.ObjectVersion++
}

// nested is the object's description inside another object.
func (m *meta) nested() wire.Meta { return m.Meta }

// spec is what the creator of an object chooses about its meta data. Identity
// and slug are chosen by seeds only.
type spec struct {
	identity, name, slug, description string
	labels, annotations               map[string]string
}

// newMeta makes the meta data of a new object. The identity is
// `<prefix>-<20 characters>`, the slug is made from the name and, when taken,
// made unique by the end of the identity.
func newMeta(prefix string, s spec, slugTaken func(string) bool, now time.Time) meta {
	if s.identity == "" {
		s.identity = newIdentity(prefix)
	}
	if s.slug == "" {
		s.slug = slugify(s.name)
	}
	if slugTaken(s.slug) {
		s.slug += "-" + s.identity[max(0, len(s.identity)-8):]
	}
	return meta{wire.Meta{
		Identity: s.identity, Name: s.name, Slug: s.slug, Description: s.description,
		CreatedAt: now, UpdatedAt: now, ObjectVersion: 1,
		Labels: copied(s.labels), Annotations: copied(s.annotations),
	}}
}

func newIdentity(prefix string) string { return prefix + "-" + xid.New().String() }

// slugify turns a name into lower case letters, digits and hyphens.
func slugify(name string) string {
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

// copied is a copy of m that is never nil, so that it reads {} on the wire.
func copied(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// list makes a nil list read [] on the wire.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
