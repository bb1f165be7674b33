package balancer

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// ownedByFormer reports whether one of the former field managers owns fields of an object, so that these are taken
// over. The error is that another field manager owns one of the given fields: a person or program has set it, and it is
// not overwritten.
func ownedByFormer(kind string, object metav1.Object, fields []fieldpath.Path, former ...string) (bool, error) {
	found := false
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == label.FieldManager || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		field := ownedField(entry, fields)
		switch {
		case slices.Contains(former, entry.Manager):
			found = true
		case field != "":
			return false, fmt.Errorf("the field %s of %s %s was set by the field manager %s, and is not overwritten: "+
				"set it back with kubectl, or delete the Service and create it again, which changes its address",
				field, kind, object.GetName(), entry.Manager)
		}
	}
	return found, nil
}

// ownedField returns the first of the fields that an entry owns; "" if it owns none, or cannot be read.
func ownedField(entry metav1.ManagedFieldsEntry, fields []fieldpath.Path) string {
	owned := &fieldpath.Set{}
	if err := owned.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return ""
	}
	for _, field := range fields {
		if owned.Has(field) {
			return strings.TrimPrefix(field.String(), ".")
		}
		below := owned
		for _, element := range field {
			below = below.WithPrefix(element)
		}
		if !below.Empty() {
			return strings.TrimPrefix(field.String(), ".")
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
