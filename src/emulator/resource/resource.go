// Package resource provides the operations of resources that are nothing but stored: list, get, create, update and
// delete. A kind of object says only what distinguishes it from others.
package resource

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// Request is a request to the API. The state that it is about is locked.
type Request struct {
	*http.Request
	Now    time.Time
	Body   []byte
	Filter object.Filter
	Rules  object.UpdateRules
	// UniqueNames refuses a name that another object of the kind has.
	UniqueNames bool
}

// Answer is the answer to a request. Without a body it has no content.
type Answer struct {
	Status int
	Body   any
	// Identity is the object that a write was about.
	Identity string
}

// Handler answers one operation on a state.
type Handler[S any] func(S, *Request) (Answer, error)

// Kind is a kind of objects T of a state S, whose requests have bodies In.
type Kind[S any, T object.Described, In any] struct {
	// Name is what messages call an object; identities begin with Prefix.
	Name, Prefix string
	// Path is the list of the objects, Key the name that their paths have for an object: "id" when empty.
	Path, Key string
	// Among are the objects that the path of a request is about.
	Among func(S, *Request) (*object.Collection[T], error)
	// Meta is what a body says about the meta data. Objects of a kind without it have no names.
	Meta func(*In) wire.MetaInput
	// Longest bounds names and descriptions.
	Longest object.Lengths
	// New makes an object, which is not added yet. Without it, there is no POST.
	New func(S, *Request, object.Record, *In) (T, error)
	// Change changes an object, or returns an error and changes nothing. Without it, there is no PUT.
	Change func(S, *Request, T, object.Record, *In) error
	// Partial kinds keep what a PUT leaves out, because the official client sends only what changes. If all is
	// replaced, they keep only their name, and what else they cannot be without.
	Partial bool
	// Release ends what a deleted object uses, or refuses the deletion.
	Release func(S, *Request, T) error
	// Leave, if set, deletes an object that takes time to go, after Release.
	Leave func(S, *Request, T)
	// View is the object as the API describes it. Made, if set, is the same in the answer to its creation.
	View, Made func(S, *Request, T) any
	// Traits are the values that filters of lists can name, besides those that everything has.
	Traits func(S, *Request, object.Traits, T) object.Traits
	// Unlisted kinds have no GET.
	Unlisted bool
	// Single kinds can be read one by one.
	Single bool
	// Permanent kinds have no DELETE.
	Permanent bool
}

func (k Kind[S, T, In]) key() string {
	if k.Key == "" {
		return "id"
	}
	return k.Key
}

// Operations are the operations that the kind has, by method and path.
func (k Kind[S, T, In]) Operations() map[string]Handler[S] {
	one := k.Path + "/{" + k.key() + "}"
	all := map[string]Handler[S]{}
	if k.New != nil {
		all["POST "+k.Path] = k.create
	}
	if !k.Permanent {
		all["DELETE "+one] = k.remove
	}
	if !k.Unlisted {
		all["GET "+k.Path] = k.list
	}
	if k.Single {
		all["GET "+one] = k.get
	}
	if k.Change != nil {
		all["PUT "+one] = k.update
	}
	return all
}

func (k Kind[S, T, In]) list(s S, r *Request) (Answer, error) {
	among, err := k.Among(s, r)
	if err != nil {
		return Answer{}, err
	}
	views := []any{}
	for item := range among.All() {
		meta := item.Nested()
		of := func() object.Traits {
			has := object.Named(meta.Identity, meta.Slug, meta.Name)
			if k.Traits != nil {
				has = k.Traits(s, r, has, item)
			}
			return has
		}
		if r.Filter.Matches(meta.Labels, of) {
			views = append(views, k.View(s, r, item))
		}
	}
	return Answer{Status: http.StatusOK, Body: views}, nil
}

// Named is the object that the path of a request about one of its parts names as "id".
func (k Kind[S, T, In]) Named(s S, r *Request) (T, error) {
	_, item, err := k.find(s, r)
	return item, err
}

// find finds the object that the path of a request names.
func (k Kind[S, T, In]) find(s S, r *Request) (among *object.Collection[T], item T, err error) {
	if among, err = k.Among(s, r); err != nil {
		return among, item, err
	}
	item, found := among.Find(r.PathValue(k.key()))
	if !found {
		err = apierror.NotFound(k.Name, r.PathValue(k.key()))
	}
	return among, item, err
}

func (k Kind[S, T, In]) get(s S, r *Request) (Answer, error) {
	_, item, err := k.find(s, r)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Status: http.StatusOK, Body: k.View(s, r, item)}, nil
}

func (k Kind[S, T, In]) create(s S, r *Request) (Answer, error) {
	among, err := k.Among(s, r)
	if err != nil {
		return Answer{}, err
	}
	in, err := Decode[In](r)
	if err != nil {
		return Answer{}, err
	}
	record, err := k.describe(r, among, in)
	if err != nil {
		return Answer{}, err
	}
	item, err := k.New(s, r, record, in)
	if err != nil {
		return Answer{}, err
	}
	among.Add(item)
	view := k.View
	if k.Made != nil {
		view = k.Made
	}
	return Answer{http.StatusCreated, view(s, r, item), item.Nested().Identity}, nil
}

// describe is the meta data of a new object.
func (k Kind[S, T, In]) describe(r *Request, among *object.Collection[T], in *In) (object.Record, error) {
	if k.Meta == nil {
		identity := object.NewIdentity(k.Prefix)
		return object.NewRecord(k.Prefix, object.Spec{Identity: identity, Slug: identity}, among.HasSlug, r.Now), nil
	}
	meta := k.Meta(in)
	described := object.Spec{Name: object.Kept(meta.Name, ""), Description: object.Kept(meta.Description, ""),
		Labels: meta.Labels, Annotations: meta.Annotations, Longest: k.Longest}
	checks := object.Checks{UniqueNames: r.UniqueNames, Now: r.Now}
	if err := object.CheckNew(checks, among, k.Name, described); err != nil {
		return object.Record{}, err
	}
	return object.NewRecord(k.Prefix, described, among.HasSlug, r.Now), nil
}

func (k Kind[S, T, In]) checkName(r *Request, among *object.Collection[T], name, except string) error {
	if !r.UniqueNames {
		return nil
	}
	return object.CheckFree(among, k.Longest, k.Name, name, except, r.Now)
}

// revise is the meta data of an object after an update.
func (k Kind[S, T, In]) revise(r *Request, among *object.Collection[T], item T, in *In) (object.Record, error) {
	next := object.Record{Meta: item.Nested()}
	if leaving(item) {
		return next, apierror.Conflict("%s %q is being deleted", k.Name, next.Identity)
	}
	if k.Meta == nil {
		next.Touch(r.Now)
		return next, nil
	}
	meta, rules := k.Meta(in), r.Rules
	rules.Merge, rules.Longest = rules.Merge || k.Partial && !rules.ReplaceAll, k.Longest
	if k.Partial && meta.Name == nil {
		meta.Name = new(next.Name)
	}
	if err := next.Describe(rules, meta.Name, meta.Description, meta.Labels, meta.Annotations, r.Now); err != nil {
		return next, err
	}
	return next, k.checkName(r, among, next.Name, next.Identity)
}

func (k Kind[S, T, In]) update(s S, r *Request) (Answer, error) {
	among, item, err := k.find(s, r)
	if err != nil {
		return Answer{}, err
	}
	in, err := Decode[In](r)
	if err != nil {
		return Answer{}, err
	}
	next, err := k.revise(r, among, item, in)
	if err != nil {
		return Answer{}, err
	}
	if err := k.Change(s, r, item, next, in); err != nil {
		return Answer{}, err
	}
	return Answer{http.StatusOK, k.View(s, r, item), next.Identity}, nil
}

func (k Kind[S, T, In]) remove(s S, r *Request) (Answer, error) {
	among, item, err := k.find(s, r)
	if err != nil {
		return Answer{}, err
	}
	gone := Answer{Status: http.StatusNoContent, Identity: item.Nested().Identity}
	if leaving(item) {
		return gone, nil
	}
	if k.Release != nil {
		if err := k.Release(s, r, item); err != nil {
			return Answer{}, err
		}
	}
	if k.Leave != nil {
		k.Leave(s, r, item)
		return gone, nil
	}
	among.Remove(item)
	return gone, nil
}

// leaving returns whether an object was deleted, and is on its way out.
func leaving(item any) bool {
	living, takesTime := item.(interface{ Active() bool })
	return takesTime && !living.Active()
}

// Decode reads the body of a request. Unknown fields are ignored.
func Decode[T any](r *Request) (*T, error) {
	into := new(T)
	return into, unmarshal(r.Body, into)
}

// Base are the settings that an update of a partial kind begins with: those that the object has, or the initial ones if
// all is replaced.
func Base[T any](r *Request, current, initial T) T {
	if r.Rules.ReplaceAll {
		return initial
	}
	return current
}

// Overlay is a copy of settings with those that the body of a request has. Settings that are null stay.
func Overlay[T any](r *Request, settings T) (T, error) {
	var next T
	all, sent := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	content, err := json.Marshal(settings)
	if err != nil {
		return next, err
	}
	if err := errors.Join(json.Unmarshal(content, &all), unmarshal(r.Body, &sent)); err != nil {
		return next, err
	}
	for key, value := range sent {
		if string(value) != "null" {
			all[key] = value
		}
	}
	if content, err = json.Marshal(all); err != nil {
		return next, err
	}
	return next, unmarshal(content, &next)
}

func unmarshal(content []byte, into any) error {
	err := json.Unmarshal(content, into)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		return apierror.Invalid("field %q must be of type %s, not %s",
			mismatch.Field, mismatch.Type, mismatch.Value)
	case err != nil:
		return apierror.Invalid("the request body is not valid JSON: %v", err)
	}
	return nil
}
