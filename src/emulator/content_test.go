package emulator

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// content describes everything in a store by reflection, also what no answer of the API shows, so that nobody has to
// remember new fields. An object is described where its collection has it, and elsewhere by its identity.
type content struct {
	// collected are the objects in collections, and counts their numbers by the field that has them.
	collected map[unsafe.Pointer]bool
	counts    map[string]int
	// within are the objects that are being described.
	within map[unsafe.Pointer]bool
}

// ignored are the fields of a store that are not a part of what it has, with the reason.
func ignored() map[string]string {
	return map[string]string{
		"Store.mu": "a lock", "Store.Switches": "a choice of the command line", "Store.Now": "the time of a request",
		"Store.changed": "what the data plane did not get yet", "Store.views": "a cache",
		"Store.Deferred": "belongs to a fault", "Store.Past": "belongs to faults", "Organisation.Store": "the store",
		"Organisation.leaving": "functions; the lives of the objects say when they are called",
		"Pool.next":            "which free address is next is not kept",
		"NodePool.machines":    "deleted ones are forgotten with the next new one; the API lists the others",
	}
}

// Content is what the store of an emulator has, as values that can be compared, and the numbers of objects.
func Content(e *Emulator) (described any, counts map[string]int) {
	c := content{map[unsafe.Pointer]bool{}, map[string]int{}, map[unsafe.Pointer]bool{}}
	store := reflect.ValueOf(e.api.Store).Elem()
	c.collect(store)
	return c.describe(store), c.counts
}

// isCollection returns whether a type is that of an object.Collection.
func isCollection(t reflect.Type) bool {
	return strings.HasPrefix(t.Name(), "Collection[")
}

// collect finds the objects in collections, also those inside of other objects.
func (c *content) collect(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		field, what := v.Field(i), v.Type().Field(i)
		switch {
		case isCollection(what.Type):
			items := field.FieldByName("Order")
			name := v.Type().Name() + "." + what.Name
			c.counts[name] += 0
			for j := range items.Len() {
				if item := items.Index(j); !item.IsNil() {
					c.counts[name]++
					c.collected[item.UnsafePointer()] = true
					c.collect(item)
				}
			}
		case what.Type == reflect.TypeFor[*state.Organisation]() && what.Name == "Space":
			c.collect(field)
		}
	}
}

// describe is a value without what is empty.
func (c *content) describe(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return c.describePointer(v)
	case reflect.Interface:
		return c.describe(v.Elem())
	case reflect.Struct:
		return c.describeStruct(v)
	case reflect.Map:
		all := map[string]any{}
		for entries := v.MapRange(); entries.Next(); {
			all[fmt.Sprint(c.describe(entries.Key()))] = c.describe(entries.Value())
		}
		return nonEmpty(all)
	case reflect.Slice, reflect.Array:
		var all []any
		for i := range v.Len() {
			all = append(all, c.describe(v.Index(i)))
		}
		if len(all) == 0 {
			return nil
		}
		return all
	case reflect.Func, reflect.Invalid:
		return nil
	default:
		return fmt.Sprint(v)
	}
}

func nonEmpty(all map[string]any) any {
	if len(all) == 0 {
		return nil
	}
	return all
}

func (c *content) describePointer(v reflect.Value) any {
	at := v.UnsafePointer()
	if v.IsNil() {
		return nil
	}
	if c.collected[at] || c.within[at] {
		return "-> " + v.Elem().FieldByName("Identity").String()
	}
	c.within[at] = true
	defer delete(c.within, at)
	return c.describe(v.Elem())
}

func (c *content) describeStruct(v reflect.Value) any {
	if v.Type() == reflect.TypeFor[time.Time]() && v.CanAddr() {
		return (*time.Time)(unsafe.Pointer(v.UnsafeAddr())).Format(time.RFC3339Nano)
	}
	if strings.HasPrefix(v.Type().PkgPath(), "net/netip") {
		return fmt.Sprint(v)
	}
	if isCollection(v.Type()) {
		return c.describeCollection(v.FieldByName("Order"))
	}
	all := map[string]any{}
	for i := range v.NumField() {
		what := v.Type().Field(i)
		if _, skip := ignored()[v.Type().Name()+"."+what.Name]; skip || v.Field(i).IsZero() {
			continue
		}
		if described := c.describe(v.Field(i)); described != nil {
			all[what.Name] = described
		}
	}
	return nonEmpty(all)
}

// describeCollection describes the objects, in their order.
func (c *content) describeCollection(items reflect.Value) any {
	var all []any
	for i := range items.Len() {
		if item := items.Index(i); !item.IsNil() {
			at := item.UnsafePointer()
			c.within[at] = true
			all = append(all, c.describe(item.Elem()))
			delete(c.within, at)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
