package seed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// History is what an object is given when it is made and changed. Without times it is made now.
type History struct {
	Description   string    `yaml:"description,omitempty"`
	CreatedAt     time.Time `yaml:"createdAt,omitempty"`
	UpdatedAt     time.Time `yaml:"updatedAt,omitempty"`
	ObjectVersion int       `yaml:"objectVersion,omitempty"`
}

// Details are the rest of the meta data of an object. The slug is made from the name when it is empty.
type Details struct {
	Slug        string            `yaml:"slug,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
	History     `yaml:",inline"`
}

// Tags are the labels and annotations of organisations and projects.
type Tags struct {
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// Life is how far an object has come. Without any of it, the object is ready.
type Life struct {
	ReadyAt time.Time `yaml:"readyAt,omitempty"`
	// RemovedAt is when the deletion began. It takes DeletingTakes, and the object is then listed for Lingers.
	RemovedAt     time.Time     `yaml:"removedAt,omitempty"`
	DeletingTakes time.Duration `yaml:"deletingTakes,omitempty"`
	Lingers       time.Duration `yaml:"lingers,omitempty"`
	// Held is a status in which the object stays, see PUT /_emulator/machines/{id}/status.
	Held string `yaml:"held,omitempty"`
}

// Described is what an object has in a seed.
func Described(m wire.Meta) Object {
	return Object{Identity: m.Identity, Name: m.Name, Labels: m.Labels, Details: Details{Slug: m.Slug,
		Annotations: m.Annotations, History: History{Description: m.Description, CreatedAt: m.CreatedAt,
			UpdatedAt: m.UpdatedAt, ObjectVersion: m.ObjectVersion}}}
}

// Removed returns whether the object is being deleted.
func (l Life) Removed() bool { return !l.RemovedAt.IsZero() }

// JSON is a value in YAML that has the keys of the API.
type JSON[T any] struct{ Value T }

// IsZero leaves out values that are not there.
func (v JSON[T]) IsZero() bool { return reflect.ValueOf(&v.Value).Elem().IsZero() }

// MarshalYAML implements yaml.Marshaler.
func (v JSON[T]) MarshalYAML() (any, error) { return jsonNode(v.Value) }

// UnmarshalYAML implements yaml.Unmarshaler. Unknown keys are errors.
func (v *JSON[T]) UnmarshalYAML(node *yaml.Node) error {
	if err := decodeJSON(node, &v.Value); err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	return nil
}

// apiType is the type that has the keys of the API.
func (JSON[T]) apiType() reflect.Type { return reflect.TypeFor[T]() }

// decodeJSON reads YAML that has the keys of the API.
func decodeJSON(node *yaml.Node, into any) error {
	var value any
	if err := node.Decode(&value); err != nil {
		return err
	}
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
