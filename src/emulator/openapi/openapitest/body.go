package openapitest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// bodies compares bodies with their schemas. It remembers those that are as described, because tests read the same
// lists again and again.
type bodies struct {
	// limit is how many different bodies are compared with each schema; 0 is all.
	limit int

	mu    sync.Mutex
	valid map[*jsonschema.Schema]map[[sha256.Size]byte]bool // the hashes of bodies
}

// enough says whether as many bodies as the limit are as this schema says.
func (b *bodies) enough(schema *jsonschema.Schema) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit > 0 && len(b.valid[schema]) >= b.limit
}

// isValid says whether a body with that hash is known to be as the schema says.
func (b *bodies) isValid(schema *jsonschema.Schema, hash [sha256.Size]byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.valid[schema][hash]
}

// remember remembers the hash of a body that is as its schema says.
func (b *bodies) remember(schema *jsonschema.Schema, hash [sha256.Size]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.valid[schema] == nil {
		b.valid[schema] = map[[sha256.Size]byte]bool{}
	}
	b.valid[schema][hash] = true
}

// validate compares a body in JSON with its schema: a list item by item.
func (b *bodies) validate(schema *jsonschema.Schema, body []byte) error {
	if b.enough(schema) || schema.Items2020 != nil && b.enough(schema.Items2020) {
		return nil
	}
	var items []json.RawMessage
	if schema.Items2020 == nil || json.Unmarshal(body, &items) != nil || items == nil { // null is no list
		return b.validateOne(schema, body)
	}
	for i, item := range items {
		if err := b.validateOne(schema.Items2020, item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

func (b *bodies) validateOne(schema *jsonschema.Schema, body []byte) error {
	if b.enough(schema) {
		return nil
	}
	hash := sha256.Sum256(body)
	if b.isValid(schema, hash) {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("reading the body %s: %w", excerpt(body), err)
	}
	if err := conforms(schema, value); err != nil {
		return fmt.Errorf("%w\nin the body %s", err, excerpt(body))
	}
	b.remember(schema, hash)
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
