// Package encode writes Go values as JSON: the same bytes as encoding/json, in a
// fraction of the time when large lists mention the same objects many times.
//
//	var encoder encode.Encoder
//	page := encoder.Page()
//	for _, machine := range machines {
//		buffer, err = page.Append(buffer, &machine) // each nests the same *VPC
//	}
//
// A page writes what a pointer to a struct leads to at most twice; after that it
// copies. Nothing is kept beyond the page, so nothing can be stale.
package encode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"
)

// Encoder caches how to write the types it has seen. The zero value is ready to
// use, by several goroutines.
type Encoder struct {
	// writers are the compiled types: reflect.Type to writer.
	writers sync.Map
}

// writer appends a value of one type.
type writer func(p *Page, out []byte, v reflect.Value) ([]byte, error)

// Page is the writing of values that mention the same objects. It is for one
// goroutine, and what it was given must not change while it is in use.
type Page struct {
	encoder *Encoder
	// written is what became of a pointer: empty after the first mention,
	// because most objects have no second one.
	written map[any][]byte
}

// Page starts a page.
func (e *Encoder) Page() *Page { return &Page{encoder: e, written: map[any][]byte{}} }

// Append writes a value, which encodes faster when it is a pointer. The error
// is that of a json.Marshaler, or says that a type has no JSON form.
func (p *Page) Append(out []byte, value any) ([]byte, error) {
	if value == nil {
		return append(out, "null"...), nil
	}
	v := reflect.ValueOf(value)
	out, err := p.encoder.writer(v.Type())(p, out, v)
	if err != nil {
		return out, fmt.Errorf("encoding a %s: %w", v.Type(), err)
	}
	return out, nil
}

func (e *Encoder) writer(t reflect.Type) writer {
	if known, found := e.writers.Load(t); found {
		return known.(writer)
	}
	known, _ := e.writers.LoadOrStore(t, e.compile(t))
	return known.(writer)
}

// compile makes the writer of a type. What lies behind pointers and slices is
// compiled when it is met, because types may be recursive there and only there.
func (e *Encoder) compile(t reflect.Type) writer {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return writeTime
	case marshals(t):
		return writeForeign
	}
	switch t.Kind() { //nolint:exhaustive // all other kinds are the default
	case reflect.Bool:
		return writeBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return writeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return writeUint
	case reflect.String:
		return writeString
	case reflect.Interface:
		return writeInterface
	case reflect.Pointer:
		return e.pointer(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return writeForeign
		}
		return writeSlice
	case reflect.Map:
		if t.Key().Kind() == reflect.String && !marshals(t.Key()) && t.Elem().Kind() == reflect.String &&
			!marshals(t.Elem()) {
			return writeStrings
		}
	case reflect.Struct:
		return e.structure(t)
	}
	return writeForeign
}

// writeForeign leaves a value to encoding/json.
func writeForeign(_ *Page, out []byte, v reflect.Value) ([]byte, error) {
	content, err := json.Marshal(v.Interface())
	return append(out, content...), err
}

func writeInterface(p *Page, out []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(out, "null"...), nil
	}
	return p.encoder.writer(v.Elem().Type())(p, out, v.Elem())
}

// pointer makes the writer of pointers to a type. Those to structs are mentions.
func (e *Encoder) pointer(to reflect.Type) writer {
	mentions := to.Kind() == reflect.Struct && to != reflect.TypeFor[time.Time]()
	return func(p *Page, out []byte, v reflect.Value) ([]byte, error) {
		switch {
		case v.IsNil():
			return append(out, "null"...), nil
		case mentions:
			return p.mention(out, v, e.writer(to))
		}
		return e.writer(to)(p, out, v.Elem())
	}
}

// mention writes what a pointer leads to, or copies it from the second time on.
func (p *Page) mention(out []byte, v reflect.Value, write writer) ([]byte, error) {
	key := v.Interface()
	content, mentioned := p.written[key]
	if len(content) > 0 {
		return append(out, content...), nil
	}
	start := len(out)
	out, err := write(p, out, v.Elem())
	if mentioned && err == nil {
		content = append([]byte(nil), out[start:]...)
	}
	p.written[key] = content
	return out, err
}

func writeSlice(p *Page, out []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(out, "null"...), nil
	}
	element := p.encoder.writer(v.Type().Elem())
	out = append(out, '[')
	var err error
	for i := range v.Len() {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = element(p, out, v.Index(i)); err != nil {
			return out, err
		}
	}
	return append(out, ']'), nil
}
