package annotation

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// listLength is the longest text of a list of names or labels, in characters, sourcesLength that of a list of
	// sources. What the API server needs to judge a list grows with the square of its length.
	listLength    = 8192
	sourcesLength = 16384
	// namePattern is an identity or slug as clouds give them, safe in URLs.
	namePattern = `^[0-9A-Za-z][0-9A-Za-z._-]*$`
	// labelPattern is a name as labels have them.
	labelPattern = `[0-9A-Za-z](?:[0-9A-Za-z._-]{0,61}[0-9A-Za-z])?`
	// pairPattern is a label: a name, perhaps with the domain of whoever defines it and a slash before, and perhaps a
	// value.
	pairPattern = `^(?:[0-9a-z](?:[0-9a-z.-]{0,251}[0-9a-z])?/)?` + labelPattern + `=(?:` + labelPattern + `)?$`
)

// Names takes up to maximum identities or slugs with commas between them, blanks around them and commas too many. They
// keep their order; one that comes twice counts once. Empty text is the empty list.
func Names(maximum int) Kind[[]string] {
	allowed := fmt.Sprintf("at most %d identities or slugs, of letters, digits and - _ ., with commas between them",
		maximum)
	name := pattern(namePattern)
	parse := func(text string) ([]string, error) {
		var names []string
		for _, element := range elements(text) {
			if !name().MatchString(element) {
				return nil, fmt.Errorf("%q is not %s", text, allowed)
			}
			names = append(names, element)
		}
		if len(names) > maximum || tooLong(text, listLength) {
			return nil, fmt.Errorf("%d names in %d bytes are not %s", len(names), len(text), allowed)
		}
		return unique(names), nil
	}
	return Kind[[]string]{
		Allowed: allowed, Parse: parse,
		Condition: eachElement(maximum, func(element string) string { return matching(element, namePattern) }),
	}
}

// Pairs takes up to 64 labels, "key=value", with commas between them, blanks around them and commas too many. Keys and
// values are those of Kubernetes' labels; a value may be empty. No key may come twice, or begin with one of the
// reserved texts. Empty text is the empty map.
func Pairs(reserved ...string) Kind[map[string]string] {
	const maximum = 64
	allowed := strings.Join(append([]string{fmt.Sprintf("at most %d labels like key=value with commas between them, "+
		"keys and values as in Kubernetes", maximum)},
		reserved...), ", no key beginning with ")
	grammar := pattern(pairPattern)
	parse := func(text string) (map[string]string, error) {
		pairs := map[string]string{}
		found := elements(text)
		for _, element := range found {
			key, value, _ := strings.Cut(element, "=")
			if _, twice := pairs[key]; twice || !grammar().MatchString(element) || startsWithAny(key, reserved) {
				return nil, fmt.Errorf("%q is not %s", text, allowed)
			}
			pairs[key] = value
		}
		if len(found) > maximum || tooLong(text, listLength) {
			return nil, fmt.Errorf("%d labels in %d bytes are not %s", len(found), len(text), allowed)
		}
		return pairs, nil
	}
	return Kind[map[string]string]{
		Allowed: allowed, Parse: parse,
		Condition: func(text string) string {
			each := eachElement(maximum, func(element string) string { return pairCondition(element, reserved) })
			return each(text) + " && " + differentKeys(text)
		},
	}
}

// pairCondition is true for one label.
func pairCondition(element string, reserved []string) string {
	conditions := []string{matching(element, pairPattern)}
	for _, start := range reserved {
		conditions = append(conditions, fmt.Sprintf("!%s.startsWith(%s)", element, strconv.Quote(start)))
	}
	return strings.Join(conditions, " && ")
}

// differentKeys is true when every key of a text that each element of is a label comes once.
func differentKeys(text string) string {
	keys := text + `.split(",").map(e, e.trim() != "", e.trim().split("=")[0])`
	return fmt.Sprintf("%s.all(key, %s.exists_one(other, other == key))", keys, keys)
}

// elements are the texts between commas, without blanks around them and without empty ones.
func elements(text string) []string {
	var found []string
	for element := range strings.SplitSeq(text, ",") {
		if element = strings.TrimSpace(element); element != "" {
			found = append(found, element)
		}
	}
	return found
}

// eachElement is true for lists whose elements are at most that many and meet the condition.
func eachElement(maximum int, condition func(element string) string) func(text string) string {
	return func(text string) string {
		return fmt.Sprintf(`size(%s) <= %d && %s.split(",").map(e, e.trim() != "", e.trim()).size() <= %d && %s.split(",").map(e, e.trim() != "", e.trim()).all(e, %s)`,
			text, listLength, text, maximum, text, condition("e"))
	}
}

// tooLong reports whether a list has more characters than it may.
func tooLong(text string, limit int) bool { return utf8.RuneCountInString(text) > limit }

func startsWithAny(text string, starts []string) bool {
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(text, start) })
}

// unique keeps the first of equal texts.
func unique(texts []string) []string {
	var once []string
	for _, text := range texts {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}

// Sources takes networks and addresses with commas between them and blanks around them: 10.0.0.0/8, 2001:db8::1. An
// address is the network of itself alone; a network counts from its first address, whichever of its addresses is given.
// The value is sorted, and no network comes twice. Empty text is the empty list, and commas too many mean nothing; one
// element that cannot be used makes all of it unusable. IPv4 addresses in the form of IPv6 and addresses with a zone
// cannot be used, nor text of more than 16384 characters.
func Sources() Kind[[]netip.Prefix] {
	allowed := fmt.Sprintf("networks like 10.0.0.0/8 or 2001:db8::/32, or single addresses, with commas between them, "+
		"at most %d characters", sourcesLength)
	parse := func(text string) ([]netip.Prefix, error) {
		if text == "" {
			return nil, nil
		}
		if tooLong(text, sourcesLength) {
			return nil, fmt.Errorf("%d bytes are not %s", len(text), allowed)
		}
		var sources []netip.Prefix
		for _, element := range elements(text) {
			source, err := parseSource(element)
			if err != nil {
				return nil, fmt.Errorf("%q is not %s: %w", text, allowed, err)
			}
			sources = append(sources, source)
		}
		if len(sources) == 0 {
			return nil, fmt.Errorf("%q is not %s", text, allowed) // commas alone may be what is left of a list
		}
		slices.SortFunc(sources, netip.Prefix.Compare)
		return slices.Compact(sources), nil
	}
	return Kind[[]netip.Prefix]{
		Allowed: allowed, Parse: parse,
		Condition: func(text string) string {
			return fmt.Sprintf(`(%s == "" || size(%s) <= %d && %s.split(",").exists(e, e.trim() != "") && %s.split(",").all(e, e.trim() == "" || isIP(e.trim()) || isCIDR(e.trim())))`,
				text, text, sourcesLength, text, text)
		},
	}
}

// parseSource reads a network or an address as the API server's isCIDR and isIP do.
func parseSource(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if !strings.Contains(text, "/") {
		var address netip.Addr
		if address, err = netip.ParseAddr(text); address.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("source %q has a zone, which means something to one machine only", text)
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("reading source %q: %w", text, err)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("source %q is an IPv4 address in the form of IPv6; write it as IPv4", text)
	}
	return prefix.Masked(), nil
}
