package environ

import "strings"

// Expand replaces the references $(NAME) in a text, as kubelet does in commands, arguments and
// values: "$$" stands for one "$", and what is not defined or not a reference stays as it is.
func Expand(text string, values map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		replaced, rest := reference(after, values)
		out.WriteString(replaced)
		text = rest
	}
}

// reference resolves what follows a "$" and returns the text after it.
func reference(after string, values map[string]string) (replaced, rest string) {
	if rest, ok := strings.CutPrefix(after, "$"); ok {
		return "$", rest
	}
	inner, ok := strings.CutPrefix(after, "(")
	if !ok {
		return "$", after
	}
	name, rest, ok := strings.Cut(inner, ")")
	if !ok {
		return "$", after
	}
	if value, ok := values[name]; ok {
		return value, rest
	}
	return "$(" + name + ")", rest
}
