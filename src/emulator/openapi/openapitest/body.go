package openapitest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// bodies compares bodies with their schemas. It remembers those that are as described, because tests read the same
// lists again and again.
type bodies struct {
	// sampling means that one body of each shape is compared.
	sampling bool
	seed     maphash.Seed

	mu    sync.Mutex
	valid map[*jsonschema.Schema]map[uint64]bool // hashes of bodies and shapes
}

func newBodies(sampling bool) bodies {
	return bodies{sampling: sampling, seed: maphash.MakeSeed(), valid: map[*jsonschema.Schema]map[uint64]bool{}}
}

// isValid reports whether a body needs no comparison with the schema.
func (b *bodies) isValid(schema *jsonschema.Schema, hash uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.valid[schema][hash]
}

// remember remembers a body that is as its schema says.
func (b *bodies) remember(schema *jsonschema.Schema, hash uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.valid[schema] == nil {
		b.valid[schema] = map[uint64]bool{}
	}
	b.valid[schema][hash] = true
}

// validate compares a body in JSON with its schema: a list item by item.
func (b *bodies) validate(schema *jsonschema.Schema, body []byte) error {
	same := maphash.Bytes(b.seed, body)
	if b.isValid(schema, same) {
		return nil
	}
	compare := b.validateShape
	limited := schema.MinItems != nil || schema.MaxItems != nil || schema.UniqueItems
	if schema.Items2020 != nil && !limited && jsontext.Value(body).Kind() == jsontext.KindBeginArray {
		compare = b.validateItems
	}
	if err := compare(schema, body); err != nil {
		return err
	}
	b.remember(schema, same)
	return nil
}

func (b *bodies) validateItems(schema *jsonschema.Schema, body []byte) error {
	items := jsontext.NewDecoder(bytes.NewBuffer(body))
	_, err := items.ReadToken()
	for i := 0; err == nil && items.PeekKind() != jsontext.KindEndArray; i++ {
		var item jsontext.Value
		if item, err = items.ReadValue(); err != nil {
			break
		}
		if err := b.validate(schema.Items2020, item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	if err != nil {
		return fmt.Errorf("reading the body %s: %w", excerpt(body), err)
	}
	return nil
}

// validateShape compares a body, unless one with the same shape suffices and is known.
func (b *bodies) validateShape(schema *jsonschema.Schema, body []byte) error {
	if !b.sampling {
		return validateOne(schema, body)
	}
	shape, err := shapeOf(b.seed, body)
	switch {
	case err != nil:
		return fmt.Errorf("reading the body %s: %w", excerpt(body), err)
	case b.isValid(schema, shape):
		return nil
	}
	if err := validateOne(schema, body); err != nil {
		return err
	}
	b.remember(schema, shape)
	return nil
}

func validateOne(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("reading the body %s: %w", excerpt(body), err)
	}
	if err := conforms(schema, value); err != nil {
		return fmt.Errorf("%w\nin the body %s", err, excerpt(body))
	}
	return nil
}

// conforms compares a value with its schema.
func conforms(schema *jsonschema.Schema, value any) error {
	err := schema.Validate(value)
	wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	unknown, others := causes(wrong)
	if len(others) > 0 {
		// Where a field is wrong, all fields of its object count as unknown.
		return errors.Join(others...)
	}
	return errors.Join(unknown...)
}

// causes are the errors at the ends of a tree of errors: unknown fields, and others.
func causes(tree *jsonschema.ValidationError) (unknown, others []error) {
	for _, cause := range tree.Causes {
		more, different := causes(cause)
		unknown, others = append(unknown, more...), append(others, different...)
	}
	if len(tree.Causes) > 0 {
		return unknown, others
	}
	text := tree.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	err := fmt.Errorf("/%s: %s", strings.Join(tree.InstanceLocation, "/"), text)
	switch tree.ErrorKind.(type) {
	case *kind.AdditionalProperties, *kind.FalseSchema:
		return []error{err}, nil
	}
	return nil, []error{err}
}

// validateForm compares a form with its schema.
func validateForm(schema *jsonschema.Schema, body []byte) error {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return err
	}
	value := map[string]any{}
	for key := range form {
		value[key] = form.Get(key)
	}
	return conforms(schema, value)
}

// excerpt is the begin of a body for a message.
func excerpt(body []byte) string {
	const enough = 1000
	if len(body) <= enough {
		return string(body)
	}
	return string(body[:enough]) + "…"
}
