package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const applyType = string(types.ApplyPatchType)

func (s *Server) servePatch(c call) (stored, error) {
	live, err := s.find(c)
	if err != nil {
		return stored{}, err
	}
	patched, err := c.patch(live)
	if err != nil {
		return stored{}, err
	}
	object, err := s.decode(c, patched)
	if err != nil {
		return stored{}, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(c.body), err.Error())})
	}
	return s.replace(c, object, live)
}

// patch returns the encoded object with a patch.
func (c call) patch(live stored) (patched []byte, err error) {
	switch kind := types.PatchType(c.contentType); {
	case kind == types.JSONPatchType:
		patch, malformed := jsonpatch.DecodePatch(c.body)
		if malformed != nil {
			return nil, apierrors.NewBadRequest("decoding the patch: " + malformed.Error())
		}
		patched, err = patch.Apply(live.encoded)
	case kind != types.MergePatchType && kind != types.StrategicMergePatchType:
		return nil, unsupportedPatch(c)
	case !json.Valid(c.body) || !bytes.HasPrefix(bytes.TrimSpace(c.body), []byte("{")):
		return nil, apierrors.NewBadRequest("decoding the patch: it is no JSON object")
	case kind == types.MergePatchType:
		patched, err = jsonpatch.MergePatch(live.encoded, c.body)
	default:
		patched, err = strategicpatch.StrategicMergePatch(live.encoded, c.body, c.kind.Object)
	}
	if err != nil {
		return nil, unprocessable(c, err)
	}
	return patched, nil
}

func unsupportedPatch(c call) error {
	return refused(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"this patch is not offered: "+c.contentType)
}

func unprocessable(c call, err error) error {
	return refused(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
		fmt.Sprintf("the patch of %s cannot be applied: %v", c.subject(), err))
}

func (s *Server) serveApply(c call) (int, stored, error) {
	if s.options.Schemas == nil {
		return 0, stored{}, unsupportedPatch(c)
	}
	applied, err := c.decodeApplied()
	if err != nil {
		return 0, stored{}, err
	}
	live, exists := s.objects[c.kind][c.key()]
	if !exists {
		live.Object = c.kind.New()
	}
	if v := applied.GetResourceVersion(); v != "" && v != live.GetResourceVersion() {
		return 0, stored{}, apierrors.NewConflict(c.kind.groupResource(), c.Name,
			fmt.Errorf("the resourceVersion is %q, not %q", live.GetResourceVersion(), v))
	}
	if c.Subresource == "status" {
		unstructured.RemoveNestedField(applied.Object, "spec")
	}
	object, err := s.merge(c, live.Object, applied)
	if err != nil {
		return 0, stored{}, err
	}
	if exists {
		live, err = s.store(c, object, live)
		return http.StatusOK, live, err
	}
	live, err = s.insert(c, object)
	return http.StatusCreated, live, err
}

// merge returns the live object with the applied fields.
func (s *Server) merge(c call, live Object, applied *unstructured.Unstructured) (Object, error) {
	fields, err := s.manager(c)
	if err != nil {
		return nil, err
	}
	merged, err := fields.Apply(copyOf(live), applied, c.manager, c.query.Get("force") == "true")
	if err != nil {
		if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
			return nil, err
		}
		return nil, unprocessable(c, err)
	}
	return asObject(merged), nil
}

// decodeApplied reads the object of a request to apply it.
func (c call) decodeApplied() (*unstructured.Unstructured, error) {
	if c.query.Get("fieldManager") == "" {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "PatchOptions"}, "", field.ErrorList{
			field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
	}
	data, err := yaml.ToJSON(c.body)
	if err != nil {
		return nil, apierrors.NewBadRequest("decoding the applied object: " + err.Error())
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, object); err != nil {
		return nil, apierrors.NewBadRequest("decoding the applied object: " + err.Error())
	}
	if object.GetName() != c.Name || object.GetNamespace() != c.Namespace && object.GetNamespace() != "" {
		return nil, apierrors.NewBadRequest("the path does not name the applied object")
	}
	if got := object.GroupVersionKind(); got != c.kind.GroupVersionKind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object is a %s, not a %s", got, c.kind.GroupVersionKind))
	}
	object.SetNamespace(c.Namespace)
	return object, nil
}

// endpoint is one with managed fields of its own.
type endpoint struct {
	kind        *Kind
	subresource string
}

// manager returns what maintains the managed fields of an object.
func (s *Server) manager(c call) (*managedfields.FieldManager, error) {
	of := endpoint{c.kind, c.Subresource}
	if made, ok := s.managers[of]; ok {
		return made, nil
	}
	schemas, err := s.options.Schemas()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	made, err := managedfields.NewDefaultFieldManager(schemas, s.options.Scheme, defaulter{s}, s.options.Scheme,
		c.kind.GroupVersionKind, c.kind.GroupVersion(), c.Subresource, nil)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	s.managers[of] = made
	return made, nil
}

// manage returns an object with the client as the manager of what it changes, if managed fields are maintained.
func (s *Server) manage(c call, live, object Object) (Object, error) {
	if s.options.Schemas == nil {
		return object, nil
	}
	manager, err := s.manager(c)
	if err != nil {
		return nil, err
	}
	return asObject(manager.UpdateNoErrors(live, object, c.manager)), nil
}

type defaulter struct{ *Server }

// Default implements runtime.ObjectDefaulter.
func (d defaulter) Default(o runtime.Object) { d.setDefaults(asObject(o)) }

// asObject returns an object of a type of the scheme; all of these are Objects.
func asObject(o runtime.Object) Object {
	object, _ := o.(Object)
	return object
}
