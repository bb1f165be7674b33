package seed

import (
	"fmt"
	"reflect"
	"strings"
)

// Check refuses what no object of any kind can have: an identity or a slug that requests cannot name, and a number
// less than 0. It does not check parts of the object that are objects themselves.
func Check(object any) error { return check(reflect.ValueOf(object), map[string]bool{}) }

// check is Check for an object of a list with other identities.
func check(v reflect.Value, identities map[string]bool) error {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for field, value := range v.Fields() {
		key, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		var err error
		switch {
		case options == "inline":
			err = check(value, identities)
		case key == "identity", key == "slug":
			err = CheckReference(key, value.String())
		case value.CanInt() && value.Int() < 0:
			err = fmt.Errorf("field %q must not be negative, not %v", key, value)
		}
		if err != nil {
			return err
		}
		if key != "identity" || value.String() == "" {
			continue
		}
		if identities[value.String()] {
			return fmt.Errorf("field %q: %q is used twice", key, value)
		}
		identities[value.String()] = true
	}
	return nil
}

// CheckReference refuses an identity or a slug that the path of a request cannot name.
func CheckReference(field, text string) error {
	if strings.Contains(text, "/") || text == "." || text == ".." {
		return fmt.Errorf("field %q must not be %q: a path of the API cannot have it", field, text)
	}
	return nil
}
