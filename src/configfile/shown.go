package configfile

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// hidden stands for a secret that is set.
const hidden = "(not shown)"

// Show returns a configuration as YAML, with what file, environment and defaults gave it, but without secrets.
// value is the struct that was decoded.
func Show(value any, keys []Key) ([]byte, error) {
	copied := reflect.New(reflect.TypeOf(value)).Elem()
	copied.Set(reflect.ValueOf(value))
	for _, key := range keys {
		if secret := field(copied, key.Path); key.Secret && secret.String() != "" {
			secret.SetString(hidden)
		}
	}
	text, err := yaml.Marshal(copied.Interface())
	if err != nil {
		return nil, fmt.Errorf("showing configuration: %w", err)
	}
	return text, nil
}

// Effective returns a configuration as YAML, without secrets, or the mistakes in it, one line each.
func Effective(value any, keys []Key, err error) (effective []byte, problems []string) {
	if err == nil {
		effective, err = Show(value, keys)
	}
	if several, ok := errors.AsType[Problems](err); ok {
		return nil, several.Lines()
	}
	if err != nil {
		return nil, []string{err.Error()}
	}
	return effective, nil
}

// field is the part of the target that the key at path is decoded into.
func field(target reflect.Value, path string) reflect.Value {
	for key := range strings.SplitSeq(path, ".") {
		target = fieldsByKey(target)[key]
	}
	return target
}
