package object

import (
	"encoding/json"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// Limits of Kubernetes, whose labels and annotations clients send.
const (
	maxLabel  = 63
	maxDomain = 253
)

// checkLabels accepts what Kubernetes does: `name` or `domain/name` as keys.
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
	case len(name) > maxLabel || !isLabel(name, isAlnum, "._-"):
		return apierror.Invalid("field %q: key %q must have 1 to %d letters, digits, '-', '_' and '.' (after its "+
			"slash), and start and end with a letter or digit",
			field, key, maxLabel)
	}
	return nil
}

// isLabel says whether a text is made of characters, with others allowed between.
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

// CheckStrictLabels applies Switches.StrictLabels to the body of a write.
func CheckStrictLabels(body []byte) error {
	var in struct{ Labels map[string]string }
	// A body that is not like this is refused by its handler.
	if err := json.Unmarshal(body, &in); err != nil {
		return nil //nolint:nilerr // see above
	}
	for key, text := range in.Labels {
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
