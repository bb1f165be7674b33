package config

import (
	"fmt"
	"reflect"

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
