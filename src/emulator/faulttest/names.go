package faulttest

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// names are what identities and addresses, which differ from run to run, are
// called instead. What was there before the work has other names than what
// is new: an object that had to stay and was made anew is a difference.
type names map[string]string

// What identities and addresses without a name become.
const (
	someIdentity = "?"
	newAddress   = "a new address"
	// their begins the names of what belongs to others.
	their = "their "
)

// momentary are the fields that differ between two good runs. Slugs are made of
// names, and of identities where a name was still taken.
func momentary() []string {
	return []string{"createdAt", "updatedAt", "lastTransitionTime", "objectVersion", "slug"}
}

// foreign names what belongs to others after its kind and its own name.
func (n names) foreign(theirs state) {
	for o := range theirs.all {
		n[o.Identity] = their + kind(o.Identity) + " " + o.Name
	}
}

// keep lets all addresses in the values have themselves as names.
func (n names) keep(value any) {
	switch value := value.(type) {
	case string:
		if isAddress(value) {
			n[value] = value
		}
	case []any:
		for _, inner := range value {
			n.keep(inner)
		}
	case map[string]any:
		for _, inner := range value {
			n.keep(inner)
		}
	}
}

// add names all objects in the values that have no name yet: their age, their
// kind and their number among what looks the same otherwise. The values are entries of
// lists of the API.
func (n names) add(age string, values []any) {
	looks := map[string]string{}
	n.collect(values, looks)
	ordered := slices.SortedFunc(maps.Keys(looks), func(x, y string) int {
		return cmp.Or(cmp.Compare(looks[x], looks[y]), cmp.Compare(x, y))
	})
	count := map[string]int{}
	for _, id := range ordered {
		count[kind(id)]++
		n[id] = fmt.Sprintf("%s %s %d", age, kind(id), count[kind(id)])
	}
}

// collect finds objects without a name, and what they look like. An object may
// be shown in several places: where it is an entry of a list of the API it is
// complete, and of the others the longest counts.
func (n names) collect(entries []any, looks map[string]string) {
	for _, entry := range entries {
		n.look(entry, looks, func(string) bool { return true })
	}
	complete := maps.Clone(looks)
	for _, entry := range entries {
		n.inside(entry, looks, complete)
	}
}

// inside looks at all objects inside a value that are not complete elsewhere.
func (n names) inside(value any, looks, complete map[string]string) {
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			n.look(inner, looks, func(id string) bool { return complete[id] == "" })
			n.inside(inner, looks, complete)
		}
	case map[string]any:
		for _, inner := range value {
			n.look(inner, looks, func(id string) bool { return complete[id] == "" })
			n.inside(inner, looks, complete)
		}
	}
}

// look records what a value looks like if it is an object without a name.
func (n names) look(value any, looks map[string]string, wanted func(id string) bool) {
	object, _ := value.(map[string]any)
	id, _ := object["identity"].(string)
	if n[id] != "" || !identity.MatchString(id) || !wanted(id) {
		return
	}
	if look := n.text(object); len(look) > len(looks[id]) {
		looks[id] = look
	}
}

// kind is the first part of an identity, "lb" or "vpc" for example.
func kind(id string) string {
	kind, _, _ := strings.Cut(id, "-")
	return kind
}

// text is the value as JSON without what differs between two good runs:
// identities and addresses have names, what is momentary is missing, and lists
// of objects are sorted, because their order says nothing.
func (n names) text(value any) string {
	switch value := value.(type) {
	case string:
		return strconv.Quote(n.of(value))
	case []any:
		return n.list(value)
	case map[string]any:
		return n.object(value)
	}
	if value == nil {
		return "null"
	}
	return fmt.Sprint(value) // a number or a bool
}

// object leaves out what is in an object of others: it is compared where it is
// listed.
func (n names) object(object map[string]any) string {
	id, _ := object["identity"].(string)
	if name := n[id]; strings.HasPrefix(name, their) {
		return strconv.Quote(name)
	}
	var b strings.Builder
	separator := "{"
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if slices.Contains(momentary(), key) {
			continue
		}
		b.WriteString(separator + strconv.Quote(key) + ":" + n.text(object[key]))
		separator = ","
	}
	if separator == "{" {
		return "{}"
	}
	return b.String() + "}"
}

func (n names) list(list []any) string {
	texts := make([]string, 0, len(list))
	objects := true // some may be shown by their names
	for _, inner := range list {
		_, isObject := inner.(map[string]any)
		objects = objects && isObject
		texts = append(texts, n.text(inner))
	}
	if objects {
		slices.Sort(texts)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// of is a text with the names of what it names: hostnames begin with identities.
func (n names) of(text string) string {
	host, domain, dotted := strings.Cut(text, ".")
	switch name, named := n[text]; {
	case named:
		return name
	case dotted && identity.MatchString(host):
		return n.of(host) + "." + domain
	case identity.MatchString(text):
		return someIdentity
	case isAddress(text):
		return newAddress
	}
	return text
}

func isAddress(text string) bool {
	if !strings.ContainsAny(text, ".:") {
		return false
	}
	_, err := netip.ParseAddr(text)
	return err == nil
}
