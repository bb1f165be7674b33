package object

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// Limits of Kubernetes, whose labels and annotations clients send.
const (
	maxLabel  = 63
	maxDomain = 253
)

// checkLabels accepts what Kubernetes does, `name` or `domain/name` as keys, and more slashes in the name: the existing
// controllers of this cloud read the label kubernetes.io/role/lb of subnets.
func checkLabels(labels map[string]string) error {
	for key, text := range labels {
		if err := checkKey("labels", key); err != nil {
			return err
		}
		if len(text) > maxLabel || text != "" && !isLabel(text, isAlnum, "._-") {
			return apierror.Invalid("field \"labels\": value %q of key %q must be at most %d letters, digits, '-', "+
				"'_' and '.', and start and end with a letter or digit",
				text, key, maxLabel)
		}
	}
	return nil
}

// checkAnnotations accepts any ASCII text as value.
func checkAnnotations(annotations map[string]string) error {
	for key, text := range annotations {
		if err := checkKey("annotations", key); err != nil {
			return err
		}
		for i := range len(text) {
			if text[i] > '\x7f' {
				return apierror.Invalid("field \"annotations\": the value of key %q has characters beyond ASCII", key)
			}
		}
	}
	return nil
}

func checkKey(field, key string) error {
	domain, name, qualified := strings.Cut(key, "/")
	if !qualified {
		domain, name = "", key
	}
	switch {
	case key == "":
		return apierror.Invalid("field %q has an empty key", field)
	case qualified && (len(domain) > maxDomain || !isLabel(domain, isLower, ".-")):
		return apierror.Invalid("field %q: %q before the slash of key %q is not a domain name of at most %d characters",
			field, domain, key, maxDomain)
	case len(name) > maxLabel || !isName(name, qualified):
		return apierror.Invalid("field %q: key %q must have 1 to %d letters, digits, '-', '_' and '.' (after its "+
			"first slash, where more slashes can separate such texts), and start and end with a letter or digit",
			field, key, maxLabel)
	}
	return nil
}

// isName returns whether a text can be the name in a key. That after a domain can have several parts.
func isName(text string, qualified bool) bool {
	parts := []string{text}
	if qualified {
		parts = strings.Split(text, "/")
	}
	return !slices.ContainsFunc(parts, func(part string) bool { return !isLabel(part, isAlnum, "._-") })
}

// isLabel reports whether a text is made of characters, with others allowed between.
func isLabel(text string, good func(byte) bool, between string) bool {
	if text == "" || !good(text[0]) || !good(text[len(text)-1]) {
		return false
	}
	for i := range len(text) {
		if !good(text[i]) && strings.IndexByte(between, text[i]) < 0 {
			return false
		}
	}
	return true
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func isAlnum(c byte) bool { return isLower(c) || c >= 'A' && c <= 'Z' }

// CheckStrictBody applies Switches.StrictLabels to the body of a write.
func CheckStrictBody(body []byte) error {
	var in struct{ Labels map[string]string }
	// A body that is not like this is refused by its handler.
	if err := json.Unmarshal(body, &in); err != nil {
		return nil //nolint:nilerr // see above
	}
	return checkStrictLabels(in.Labels)
}

// checkStrictLabels applies Switches.StrictLabels.
func checkStrictLabels(labels map[string]string) error {
	for key, text := range labels {
		if !strings.Contains(key, "/") && !isLabel(key, isLower, "-") {
			return apierror.Invalid("field \"labels\": key %q must be lower case letters, digits and '-', starting "+
				"and ending with a letter or digit", key)
		}
		if !isLabel(text, isLower, "-") {
			return apierror.Invalid("field \"labels\": value %q of key %q must be 1 to %d lower case letters, digits "+
				"and '-', starting and ending with a letter or digit",
				text, key, maxLabel)
		}
	}
	return nil
}
