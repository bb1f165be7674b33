package declaration

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// at is the value at a path, as in "vpc.identity"; "groups.*.identity" is a list.
func at(value any, path string) any {
	key, rest, deeper := strings.Cut(path, ".")
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	next := object[key]
	if !deeper {
		return next
	}
	below, each := strings.CutPrefix(rest, "*.")
	if !each {
		return at(next, rest)
	}
	var all []any
	list, _ := next.([]any)
	for _, element := range list {
		all = append(all, at(element, below))
	}
	return all
}

// empty is whether a value is as good as none.
func empty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if !empty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return value == nil || reflect.ValueOf(value).IsZero()
}

// difference is where what is read is not what was sent, or "". What was not sent must be empty.
func difference(sent, read any) string {
	switch want := sent.(type) {
	case map[string]any:
		return objectDifference(want, read)
	case []any:
		got, _ := read.([]any)
		if len(got) != len(want) {
			return fmt.Sprintf(": %d elements were sent, %d are read", len(want), len(got))
		}
		for i := range want {
			if d := difference(want[i], got[i]); d != "" {
				return fmt.Sprintf("[%d]%s", i, d)
			}
		}
		return ""
	}
	if sent == read || empty(sent) && empty(read) {
		return ""
	}
	return fmt.Sprintf(": %#v was sent, %#v is read", sent, read)
}

func objectDifference(sent map[string]any, read any) string {
	got, _ := read.(map[string]any)
	for key, value := range sent {
		if d := difference(value, got[key]); d != "" {
			return "." + key + d
		}
	}
	for key, value := range got {
		if _, ok := sent[key]; !ok && !empty(value) {
			return fmt.Sprintf(".%s: nothing was sent, %#v is read", key, value)
		}
	}
	return ""
}

// changes are the paths at which two answers are different, except below those that may be.
func changes(before, after any, prefix string, may []string) []string {
	if slices.Contains(may, prefix) || reflect.DeepEqual(before, after) {
		return nil
	}
	old, isObject := before.(map[string]any)
	now, isStill := after.(map[string]any)
	if !isObject || !isStill {
		return []string{fmt.Sprintf("%s: %v, then %v", prefix, before, after)}
	}
	keys := maps.Clone(old)
	maps.Copy(keys, now)
	var all []string
	for key := range keys {
		all = append(all, changes(old[key], now[key], strings.TrimPrefix(prefix+"."+key, "."), may)...)
	}
	slices.Sort(all)
	return all
}
