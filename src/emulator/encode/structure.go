package encode

import (
	"reflect"
	"strings"
)

// field is a key of a JSON object.
type field struct {
	// index leads to the field, through embedded structs.
	index []int
	// opening is the quoted key and the colon.
	opening string
	write   writer
	// omit says when the key is left out; nil means never.
	omit func(reflect.Value) bool
}

// structure compiles a struct. What the package does not know (fields that hide
// each other, embedded pointers, quoted numbers) is left to encoding/json.
func (e *Encoder) structure(t reflect.Type) writer {
	fields, known := e.fields(t, nil)
	names := map[string]bool{}
	for _, f := range fields {
		known = known && !names[f.opening]
		names[f.opening] = true
	}
	if !known {
		return writeForeign
	}
	return func(p *Page, out []byte, v reflect.Value) ([]byte, error) {
		separator := byte('{')
		for i := range fields {
			f := &fields[i]
			value := f.of(v)
			if f.omit != nil && f.omit(value) {
				continue
			}
			out = append(append(out, separator), f.opening...)
			separator = ','
			var err error
			if out, err = f.write(p, out, value); err != nil {
				return out, err
			}
		}
		if separator == '{' {
			out = append(out, '{')
		}
		return append(out, '}'), nil
	}
}

func (f *field) of(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		v = v.Field(i)
	}
	return v
}

func (e *Encoder) fields(t reflect.Type, path []int) (all []field, known bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), path...), i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || marshals(f.Type) {
				return nil, false
			}
			inner, known := e.fields(f.Type, index)
			if !known {
				return nil, false
			}
			all = append(all, inner...)
			continue
		case !f.IsExported() || tag == "-":
			continue
		case name == "":
			name = f.Name
		}
		omit, known := omission(f.Type, options)
		if !known {
			return nil, false
		}
		opening := string(appendString(nil, name)) + ":"
		all = append(all, field{index: index, opening: opening, write: e.writer(f.Type), omit: omit})
	}
	return all, true
}

// omission reads the options of a tag.
func omission(t reflect.Type, options string) (omit func(reflect.Value) bool, known bool) {
	switch options {
	case "":
		return nil, true
	case "omitempty":
		return empty(t), true
	}
	return nil, false
}

func empty(t reflect.Type) func(reflect.Value) bool {
	switch t.Kind() { //nolint:exhaustive // all other kinds are the default
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Struct:
		return nil
	}
	return reflect.Value.IsZero
}
