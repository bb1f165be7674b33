package fault

import "strings"

// glob reports whether a text is like a pattern, in which an asterisk stands for
// any text. An empty pattern is like everything.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == "" || pattern == text
	}
	text, found := strings.CutPrefix(text, parts[0])
	if !found {
		return false
	}
	for _, part := range parts[1:last] {
		_, text, found = strings.Cut(text, part)
		if !found {
			return false
		}
	}
	return strings.HasSuffix(text, parts[last])
}

// Covers reports whether the rule is meant for an operation, whatever the path.
func (r Rule) Covers(operation string) bool { return glob(r.Operation, operation) }
