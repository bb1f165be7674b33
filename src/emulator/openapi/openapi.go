// Package openapi describes the API that the emulator serves: an OpenAPI 3.1 document, written in one file for each
// resource. Tests of the emulator compare it with all that is sent and answered, see openapitest.
//
// Each file is a part of the document. Its top-level keys that begin with x- hold what the file repeats, and are left
// out.
package openapi

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed *.yaml
var files embed.FS

// JSON returns the document.
func JSON() ([]byte, error) {
	parts, err := read(files)
	if err != nil {
		return nil, err
	}
	document, err := join(parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(document)
}

// read returns the parts in a file system, by name.
func read(from fs.FS) (map[string]map[string]any, error) {
	names, err := fs.Glob(from, "*.yaml")
	if err != nil {
		return nil, err
	}
	parts := map[string]map[string]any{}
	for _, name := range names {
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		var part map[string]any
		if err := yaml.Unmarshal(content, &part); err != nil {
			return nil, fmt.Errorf("reading the part %s of the OpenAPI document: %w", name, err)
		}
		maps.DeleteFunc(part, func(key string, _ any) bool { return strings.HasPrefix(key, "x-") })
		parts[strings.TrimSuffix(name, ".yaml")] = part
	}
	return parts, nil
}

// join makes one document of its parts.
func join(parts map[string]map[string]any) (map[string]any, error) {
	whole := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		for key, value := range parts[name] {
			var err error
			if whole[key], err = merged(whole[key], value, key, key == "components"); err != nil {
				return nil, fmt.Errorf("joining the part %s of the OpenAPI document: %w", name, err)
			}
		}
	}
	return whole, nil
}

// merged is a value of the document with what a part adds: the elements of a list, or the keys of an object. Those of
// a deep object may have values in several parts.
func merged(have, more any, at string, deep bool) (any, error) {
	if have == nil {
		return more, nil
	}
	if list, ok := have.([]any); ok {
		elements, _ := more.([]any)
		return append(list, elements...), nil
	}
	object, _ := have.(map[string]any)
	keys, ok := more.(map[string]any)
	if !ok || object == nil {
		return nil, fmt.Errorf("%s is in two parts: remove one", at)
	}
	for key, value := range keys {
		if object[key] != nil && !deep {
			return nil, fmt.Errorf("%s.%s is in two parts: remove one", at, key)
		}
		var err error
		if object[key], err = merged(object[key], value, at+"."+key, false); err != nil {
			return nil, err
		}
	}
	return object, nil
}
