package apiserver

import (
	"bytes"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// find returns the object that a request names.
func (s *Server) find(c call) (stored, error) {
	o, ok := s.objects[c.kind][c.key()]
	if !ok {
		return stored{}, apierrors.NewNotFound(c.kind.groupResource(), c.Name)
	}
	return o, nil
}

// selection says which objects a list or a watch has.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (c call) selection() (selection, error) {
	byLabel, err := labels.Parse(c.query.Get("labelSelector"))
	if err != nil {
		return selection{}, apierrors.NewBadRequest("labelSelector: " + err.Error())
	}
	byField, err := fields.ParseSelector(c.query.Get("fieldSelector"))
	if err != nil {
		return selection{}, apierrors.NewBadRequest("fieldSelector: " + err.Error())
	}
	offered := fieldsOf(c.kind.Object)
	for _, r := range byField.Requirements() {
		if _, ok := offered[r.Field]; !ok {
			return selection{}, apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
	}
	return selection{c.Namespace, byLabel, byField}, nil
}

func (s selection) has(o stored) bool {
	return o.Object != nil && (s.namespace == "" || s.namespace == o.GetNamespace()) &&
		s.labels.Matches(labels.Set(o.GetLabels())) &&
		(s.fields.Empty() || s.fields.Matches(fieldsOf(o.Object)))
}

// fieldsOf returns the fields that a field selector can select.
func fieldsOf(object Object) fields.Set {
	return fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
}

// serveList answers with all objects at once: it ignores the limit.
func (s *Server) serveList(c call) (int, []byte, error) {
	selected, err := c.selection()
	if err != nil {
		return 0, nil, err
	}
	var items [][]byte
	for _, o := range s.list(c.kind, c.Namespace) {
		if selected.has(o) {
			items = append(items, o.encoded)
		}
	}
	return http.StatusOK, fmt.Appendf(nil,
		`{"kind":"%sList","apiVersion":"%s","metadata":{"resourceVersion":"%d"},"items":[%s]}`,
		c.kind.Kind, c.kind.GroupVersion(), s.version, bytes.Join(items, []byte(","))), nil
}
