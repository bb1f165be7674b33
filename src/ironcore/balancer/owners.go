package balancer

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// ownership is what the managed fields of an object mean for the next server-side apply.
type ownership struct {
	// Force takes over fields that differ, and that another field manager owns.
	Force bool
	// Lost is a field that has the desired value, and that the field manager LostTo owns and this program does not: it
	// has set another value and then this one. The object is applied again, so that later changes are no conflicts. ""
	// if there is none.
	Lost, LostTo string
}

// ownershipOf returns what the managed fields of an object mean. The error is that another field manager owns one of
// the fields that differ, and this one does not: a person or program has set it, and it is not overwritten. A field
// that both own has the value that this program has applied last: the API server ends the ownership of all others when
// somebody sets another value.
func ownershipOf(kind string, object metav1.Object, applied, differing []fieldpath.Path,
	former ...string) (ownership, error) {
	entries := object.GetManagedFields()
	found := ownership{Force: len(entries) == 0} // nothing is recorded, so that the API server would refuse all changes
	own := fieldsOf(entries, label.FieldManager)
	for _, entry := range entries {
		if entry.Manager == label.FieldManager || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		if slices.Contains(former, entry.Manager) || entry.Manager == beforeFirstApply {
			found.Force = true
			continue
		}
		theirs := fieldsOf(entries, entry.Manager)
		if field := firstOf(differing, theirs, own); field != "" {
			return ownership{}, fmt.Errorf("the field %s of %s %s was set by the field manager %s, and is not "+
				"overwritten: set it back with kubectl, or delete the Service and create it again, which changes its "+
				"address", field, kind, object.GetName(), entry.Manager)
		}
		found.Force = found.Force || firstOf(differing, theirs, &fieldpath.Set{}) != ""
		if field := firstOf(applied, theirs, own); field != "" {
			found.Lost, found.LostTo = field, entry.Manager
		}
	}
	return found, nil
}

// why returns why an object is applied in which nothing differs.
func (o ownership) why() []string {
	if o.Lost == "" {
		return nil
	}
	return []string{fmt.Sprintf("the field manager %s has set %s back", o.LostTo, o.Lost)}
}

// beforeFirstApply is the field manager that the API server makes the owner of all fields of an object without managed
// fields when it is applied for the first time.
const beforeFirstApply = "before-first-apply"

// fieldsOf returns the fields that a field manager owns. Entries that cannot be read own none.
func fieldsOf(entries []metav1.ManagedFieldsEntry, manager string) *fieldpath.Set {
	all := &fieldpath.Set{}
	for _, entry := range entries {
		owned := &fieldpath.Set{}
		if entry.Manager == manager && entry.Subresource == "" && entry.FieldsV1 != nil &&
			owned.FromJSON(entry.FieldsV1.GetRawReader()) == nil {
			all = all.Union(owned)
		}
	}
	return all
}

// firstOf returns the first of the fields that is in one set and not in the other; "" if there is none.
func firstOf(fields []fieldpath.Path, in, notIn *fieldpath.Set) string {
	for _, field := range fields {
		if owns(in, field) && !owns(notIn, field) {
			return strings.TrimPrefix(field.String(), ".")
		}
	}
	return ""
}

// owns reports whether a set contains a field, or a part of it.
func owns(set *fieldpath.Set, field fieldpath.Path) bool {
	if set.Has(field) {
		return true
	}
	for _, element := range field {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}

// pathsOf returns the paths of fields that are below these parents in the object.
func pathsOf(fields []string, parents ...string) []fieldpath.Path {
	paths := make([]fieldpath.Path, len(fields))
	for i := range fields {
		for _, parent := range parents {
			paths[i] = append(paths[i], fieldpath.PathElement{FieldName: &parent})
		}
		paths[i] = append(paths[i], fieldpath.PathElement{FieldName: &fields[i]})
	}
	return paths
}
