package resource

import (
	"maps"
	"reflect"
	"slices"
)

// Changed returns the latest state of an object with only the changes between from and to. Every field takes part, so
// that none is forgotten when one is added. Labels and annotations change key by key. A field with the tag
// `change:"set"` changes element by element, and is sorted then. All other fields change as a whole: allowed sources
// are never a mixture of two states.
func Changed[T LoadBalancer | Listener](latest, from, to T) T {
	result, before, after := reflect.ValueOf(&latest).Elem(), reflect.ValueOf(from), reflect.ValueOf(to)
	for i := range result.NumField() {
		field, was, is := result.Field(i), before.Field(i).Interface(), after.Field(i).Interface()
		if reflect.DeepEqual(was, is) {
			continue
		}
		changed := is
		switch value := field.Interface().(type) {
		case Labels:
			changed = changedLabels(value, was.(Labels), is.(Labels))
		case []string:
			if result.Type().Field(i).Tag.Get("change") == "set" {
				changed = changedSet(value, was.([]string), is.([]string))
			}
		}
		field.Set(reflect.ValueOf(changed))
	}
	return latest
}

func changedLabels(latest, from, to Labels) Labels {
	labels := Labels{}
	maps.Copy(labels, latest)
	for key := range from {
		if _, stays := to[key]; !stays {
			delete(labels, key)
		}
	}
	for key, value := range to {
		if before, present := from[key]; !present || before != value {
			labels[key] = value
		}
	}
	return labels
}

// changedSet returns a sorted set with the changes between from and to.
func changedSet(latest, from, to []string) []string {
	set := slices.DeleteFunc(slices.Clone(latest), func(one string) bool {
		return slices.Contains(from, one) && !slices.Contains(to, one)
	})
	for _, one := range to {
		if !slices.Contains(from, one) {
			set = append(set, one)
		}
	}
	slices.Sort(set)
	return slices.Compact(set)
}
