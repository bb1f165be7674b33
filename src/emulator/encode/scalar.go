package encode

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// marshals reports whether a type has a JSON form of its own.
func marshals(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	for _, kind := range []reflect.Type{t, reflect.PointerTo(t)} {
		if kind.Implements(reflect.TypeFor[json.Marshaler]()) ||
			kind.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			// A pointer to a time is a time, or null.
			return t != reflect.TypeFor[*time.Time]()
		}
	}
	return false
}

func writeBool(_ *Page, out []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendBool(out, v.Bool()), nil
}

func writeInt(_ *Page, out []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendInt(out, v.Int(), 10), nil
}

func writeUint(_ *Page, out []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendUint(out, v.Uint(), 10), nil
}

func writeString(_ *Page, out []byte, v reflect.Value) ([]byte, error) {
	return appendString(out, v.String()), nil
}

// appendString quotes a string; encoding/json does so with the rare ones.
func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			// A string always has a JSON form.
			content, _ := json.Marshal(s)
			return append(out, content...)
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}

func writeTime(p *Page, out []byte, v reflect.Value) ([]byte, error) {
	if !v.CanAddr() {
		return writeForeign(p, out, v)
	}
	t := v.Addr().Interface().(*time.Time)
	_, offset := t.Zone()
	if year := t.Year(); year < 0 || year > 9999 || offset%60 != 0 {
		// Beyond what RFC 3339 can say; encoding/json explains.
		return writeForeign(p, out, v)
	}
	out = append(out, '"')
	out = t.AppendFormat(out, time.RFC3339Nano)
	return append(out, '"'), nil
}

// writeStrings writes a map of strings, its keys in order.
func writeStrings(_ *Page, out []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(out, "null"...), nil
	}
	if v.Len() == 0 {
		return append(out, "{}"...), nil
	}
	pairs := make([][2]string, 0, v.Len())
	for entry := v.MapRange(); entry.Next(); {
		pairs = append(pairs, [2]string{entry.Key().String(), entry.Value().String()})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		if a[0] < b[0] {
			return -1
		}
		return 1
	})
	separator := byte('{')
	for _, pair := range pairs {
		out = append(out, separator)
		out = appendString(out, pair[0])
		out = append(out, ':')
		out = appendString(out, pair[1])
		separator = ','
	}
	return append(out, '}'), nil
}
