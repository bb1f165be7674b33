package emulator

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// described is an object of a seed.
type described struct {
	// place is where it is, such as organisations[0].vpcs[1].
	place string
	value reflect.Value
}

// describedIn are the objects at a place of a seed that have labels.
func describedIn(place string, v reflect.Value) (all []described) {
	switch v.Kind() { //nolint:exhaustive // others contain no objects
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, describedIn(fmt.Sprintf("%s[%d]", place, i), v.Index(i))...)
		}
	case reflect.Struct:
		if v.FieldByName("Labels").IsValid() {
			all = append(all, described{place, v})
		}
		for i := range v.NumField() {
			key, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			switch {
			case options == "inline":
				inner := describedIn(place, v.Field(i))
				all = append(all, slices.DeleteFunc(inner, func(d described) bool { return d.place == place })...)
			case key != "":
				all = append(all, describedIn(strings.TrimPrefix(place+"."+key, "."), v.Field(i))...)
			}
		}
	}
	return all
}

// fresh is the state of a cloud as a seed that no emulator wrote.
func fresh(t *testing.T, e *Emulator) Seed {
	t.Helper()
	var content bytes.Buffer
	if err := WriteSeed(&content, e.Seed()); err != nil {
		t.Fatal(err)
	}
	seed, err := ReadSeed(&content)
	if err != nil {
		t.Fatal(err)
	}
	seed.Version = 0
	return seed
}

// What requests made is accepted in a seed, and the meta data of each object there is checked.
func TestSeedsWithBadMetaDataAreRefused(t *testing.T) {
	seed := fresh(t, overfilled(t))
	accepted := func() {
		t.Helper()
		if _, err := NewDescribed(t, Config{Seed: seed}); err != nil {
			t.Fatal(err)
		}
	}
	accepted()
	kinds := map[string]bool{}
	for _, object := range describedIn("", reflect.ValueOf(&seed).Elem()) {
		kind := object.value.Type().String()
		if kinds[kind] {
			continue
		}
		kinds[kind] = true
		for field, bad := range map[string]any{
			"Name": strings.Repeat("n", 256), "Description": strings.Repeat("d", 1025),
			"Labels":      map[string]string{"a": "b c"},
			"Annotations": map[string]string{"a b": "c"},
		} {
			value := object.value.FieldByName(field)
			if !value.IsValid() {
				continue // such as annotations of machine images
			}
			right := reflect.ValueOf(value.Interface())
			value.Set(reflect.ValueOf(bad))
			want := "seed: " + object.place + "." + strings.ToLower(field)
			if _, err := NewDescribed(t, Config{Seed: seed}); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s of %s: error %v, want one that begins with %q", field, kind, err, want)
			}
			value.Set(right)
		}
	}
	accepted()
	if len(kinds) < 30 {
		t.Errorf("only %d kinds of objects have labels: %v", len(kinds), kinds)
	}
}
