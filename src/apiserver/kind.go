package apiserver

import (
	"reflect"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is an object of any kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is a resource, and how the server treats it.
type Kind struct {
	schema.GroupVersionKind
	Resource  string // the plural, such as "nodes"
	Object    Object // an empty object of the type
	Cluster   bool   // objects have no namespace
	HasStatus bool   // the status has an endpoint of its own
	ValidName apivalidation.ValidateNameFunc
	// Admit validates, and may change the object. The old object is nil if the object is created. It is optional.
	Admit func(object, old Object) field.ErrorList
}

// New returns an object that has only its type.
func (k *Kind) New() Object {
	o := k.empty()
	o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return o
}

func (k *Kind) empty() Object {
	o, _ := reflect.TypeAssert[Object](reflect.New(reflect.TypeOf(k.Object).Elem()))
	return o
}

func (k *Kind) admit(object, old Object) field.ErrorList {
	if k.Admit == nil {
		return nil
	}
	return k.Admit(object, old)
}

func (k *Kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// key returns the name of an object, without a namespace if the kind has none.
func (k *Kind) key(name types.NamespacedName) types.NamespacedName {
	if k.Cluster {
		name.Namespace = ""
	}
	return name
}

// NameOf returns the name of an object.
func NameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// copyField copies a field of a struct if there is one with this name.
func copyField(to, from Object, name string) {
	if f := reflect.ValueOf(to).Elem().FieldByName(name); f.IsValid() {
		f.Set(reflect.ValueOf(from).Elem().FieldByName(name))
	}
}
