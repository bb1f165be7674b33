package balancer

import (
	"bytes"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// owners are the field managers that own some fields of an object.
type owners struct {
	// former means that a program owns one whose fields are taken over.
	former bool
}

// ownersOf returns who owns one of the fields. The error is that another field manager than this program or the
// former ones owns one: a person or program has set it, and it is not overwritten.
func ownersOf(object metav1.Object, fields []fieldpath.Path, former ...string) (owners, error) {
	var found owners
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == label.FieldManager || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		field := ownedField(entry, fields)
		switch {
		case slices.Contains(former, entry.Manager):
			found.former = true
		case field != "":
			return owners{}, fmt.Errorf("%s of %s is set by the field manager %s, and is not overwritten: remove it with "+
				"the program that has set it, or delete the load balancer in IronCore so that it is created again",
				field, object.GetName(), entry.Manager)
		}
	}
	return found, nil
}

// ownedField returns the first of the fields that an entry owns; "" if it owns none, or cannot be read.
func ownedField(entry metav1.ManagedFieldsEntry, fields []fieldpath.Path) string {
	owned := &fieldpath.Set{}
	if err := owned.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
		return ""
	}
	for _, field := range fields {
		if owned.Has(field) {
			return field.String()
		}
		below := owned
		for _, element := range field {
			below = below.WithPrefix(element)
		}
		if !below.Empty() {
			return field.String()
		}
	}
	return ""
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
