package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// received returns the object in a request to create or to update it.
func (s *Server) received(c call) (Object, error) {
	object, err := s.decode(c, c.body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if object.GetName() != c.Name {
		return nil, apierrors.NewBadRequest("the name in the path is not the name in the object")
	}
	return object, nil
}

func (s *Server) serveCreate(c call) (stored, error) {
	object, err := s.received(c)
	if err != nil {
		return stored{}, err
	}
	if object.GetResourceVersion() != "" {
		return stored{}, apierrors.NewBadRequest("a new object must not have a resourceVersion")
	}
	managed, err := s.manage(c, c.kind.New(), object)
	if err != nil {
		return stored{}, err
	}
	return s.insert(c, managed)
}

// insert creates an object that a client has sent.
func (s *Server) insert(c call, object Object) (stored, error) {
	if _, ok := s.objects[c.kind][c.key()]; ok {
		return stored{}, apierrors.NewAlreadyExists(c.kind.groupResource(), c.Name)
	}
	object.SetUID("")
	copyField(object, c.kind.Object, "Status")
	s.setDefaults(object)
	if err := s.validate(c, object, nil); err != nil {
		return stored{}, err
	}
	return s.create(c.kind, object), nil
}

func (s *Server) serveUpdate(c call) (stored, error) {
	object, err := s.received(c)
	if err != nil {
		return stored{}, err
	}
	if object.GetResourceVersion() == "" {
		return stored{}, apierrors.NewInvalid(schema.GroupKind{Group: c.kind.Group, Kind: c.kind.Resource}, c.Name,
			field.ErrorList{
				field.Invalid(field.NewPath("metadata", "resourceVersion"), "", "must be specified for an update")})
	}
	live, err := s.find(c)
	if err != nil {
		return stored{}, err
	}
	return s.replace(c, object, live)
}

// replace updates an object to what a client has sent, and records the client as the manager of what it changes.
func (s *Server) replace(c call, object Object, live stored) (stored, error) {
	if c.Subresource == "status" {
		copyField(object, live.Object, "Spec")
	}
	managed, err := s.manage(c, copyOf(live.Object), object)
	if err != nil {
		return stored{}, err
	}
	return s.store(c, managed, live)
}

// store updates an object of which the managed fields are known.
func (s *Server) store(c call, object Object, live stored) (stored, error) {
	if err := checkVersion(c, object, live); err != nil {
		return stored{}, err
	}
	keepFields(c, object, live)
	if err := s.validate(c, object, live.Object); err != nil {
		return stored{}, err
	}
	finished := object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0
	if live.isSame(object) && !finished {
		return live, nil
	}
	return s.update(c.kind, object), nil
}

func checkVersion(c call, object Object, live stored) error {
	conflict := ""
	if object.GetResourceVersion() != live.GetResourceVersion() {
		conflict = "the object has been modified; please apply your changes to the latest version and try again"
	}
	if uid := object.GetUID(); uid != "" && uid != live.GetUID() {
		conflict = fmt.Sprintf("the uid is %s, not %s", live.GetUID(), uid)
	}
	if conflict != "" {
		return apierrors.NewConflict(c.kind.groupResource(), c.Name, errors.New(conflict))
	}
	return nil
}

// keepFields undoes the changes that a request cannot make.
func keepFields(c call, object Object, live stored) {
	kept := "Status"
	if c.Subresource == "status" {
		kept = "Spec"
	}
	copyField(object, live.Object, kept)
	object.SetUID(live.GetUID())
	object.SetGeneration(live.GetGeneration())
	object.SetCreationTimestamp(live.GetCreationTimestamp())
	object.SetDeletionTimestamp(live.GetDeletionTimestamp())
	object.SetDeletionGracePeriodSeconds(live.GetDeletionGracePeriodSeconds())
}

func (s *Server) validate(c call, object, old Object) error {
	path := field.NewPath("metadata")
	problems := apivalidation.ValidateObjectMetaAccessor(object, !c.kind.Cluster, c.kind.ValidName, path)
	if old != nil {
		problems = append(problems, apivalidation.ValidateObjectMetaAccessorUpdate(object, old, path)...)
	}
	problems = append(problems, c.kind.admit(object, old)...)
	if len(problems) > 0 {
		return apierrors.NewInvalid(c.kind.GroupKind(), object.GetName(), problems)
	}
	return nil
}

// decode reads an object that a client has sent, and sets its defaults. Fields that the type does not have are ignored.
func (s *Server) decode(c call, data []byte) (Object, error) {
	object := c.kind.New()
	if err := json.Unmarshal(data, object); err != nil {
		return nil, fmt.Errorf("decoding a %s: %w", c.kind.Kind, err)
	}
	if got := object.GetObjectKind().GroupVersionKind(); got != c.kind.GroupVersionKind {
		return nil, fmt.Errorf("the object is a %s, not a %s", got, c.kind.GroupVersionKind)
	}
	if n := object.GetNamespace(); n != "" && n != c.Namespace {
		return nil, fmt.Errorf("the namespace is %q in the object and %q in the path", n, c.Namespace)
	}
	object.SetNamespace(c.Namespace)
	s.setDefaults(object)
	return object, nil
}

func (s *Server) setDefaults(object Object) {
	if s.options.Default != nil {
		s.options.Default(object)
	}
}

// serveDelete answers with the object if its finalizers hold it, and with a status if it does not exist any more.
func (s *Server) serveDelete(c call) (int, []byte, error) {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(c.body, &options); err != nil && len(c.body) > 0 {
		return 0, nil, apierrors.NewBadRequest("decoding DeleteOptions: " + err.Error())
	}
	live, err := s.find(c)
	if err != nil {
		return 0, nil, err
	}
	if err := checkPreconditions(c, options.Preconditions, live); err != nil {
		return 0, nil, err
	}
	deleted := s.delete(c.kind, live)
	if len(deleted.GetFinalizers()) > 0 {
		return http.StatusOK, deleted.encoded, nil
	}
	return http.StatusOK, encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: c.Name, Group: c.kind.Group,
			Kind: c.kind.Resource, UID: live.GetUID()}}), nil
}

func checkPreconditions(c call, p *metav1.Preconditions, live stored) error {
	conflict := ""
	if p != nil && p.UID != nil && *p.UID != live.GetUID() {
		conflict = fmt.Sprintf("the uid is %s, not %s", live.GetUID(), *p.UID)
	}
	if p != nil && p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion() {
		conflict = fmt.Sprintf("the resourceVersion is %s, not %s", live.GetResourceVersion(), *p.ResourceVersion)
	}
	if conflict != "" {
		of := schema.GroupResource{Group: c.kind.Group, Resource: c.kind.Kind}
		return apierrors.NewConflict(of, c.Name, errors.New("a precondition failed: "+conflict))
	}
	return nil
}
