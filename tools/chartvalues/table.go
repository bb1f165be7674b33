package chartvalues

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Start and End are the lines of a Markdown file between which the table is.
const (
	Start = "<!-- Made by \"make generate\" from the comments in values.yaml. -->\n"
	End   = "<!-- End of what is made. -->\n"
)

// Table returns a Markdown table with a row for every leaf: path, default, and the first sentence about it.
func (v *Value) Table() string {
	var table strings.Builder
	table.WriteString("| Value | Default | Meaning |\n|---|---|---|\n")
	for _, leaf := range v.Leaves() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", leaf.Path, leaf.shown(),
			strings.ReplaceAll(leaf.sentence(), "|", `\|`))
	}
	return table.String()
}

// Insert returns the Markdown page with the table between Start and End.
func (v *Value) Insert(page []byte) ([]byte, error) {
	before, rest, started := strings.Cut(string(page), Start)
	_, after, ended := strings.Cut(rest, End)
	if !started || !ended {
		return nil, fmt.Errorf("inserting the table of values: the page lacks the line %q, or %q after it",
			strings.TrimSpace(Start), strings.TrimSpace(End))
	}
	return []byte(before + Start + "\n" + v.Table() + "\n" + End + after), nil
}

// shown is the default as YAML on one line, or in words.
func (v *Value) shown() string {
	if v.Required {
		return "required"
	}
	if v.Words != "" {
		return v.Words
	}
	if text, isText := v.Default.(string); isText && text != "" {
		return "`" + text + "`"
	}
	if data, err := json.Marshal(v.Default); err == nil {
		return "`" + flow(data) + "`"
	}
	return ""
}

// flow writes JSON as a person would write it in YAML, on one line.
func flow(data []byte) string {
	var node yaml.Node
	if yaml.Unmarshal(data, &node) != nil {
		return string(data)
	}
	plain(&node)
	text, err := yaml.Marshal(&node)
	if err != nil {
		return string(data)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// plain takes the quotes from words that need none; the library puts them back where they do.
func plain(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Value != "" {
		node.Style = 0
	}
	for _, child := range node.Content {
		plain(child)
	}
}

// sentenceEnd is one full stop, or several that leave something out, before something that begins a sentence.
var sentenceEnd = regexp.MustCompile(`(\.+)\s+["A-Z]`)

// sentence is the first sentence of the comment, without its full stop. Dots that leave something out stay.
func (v *Value) sentence() string {
	text := v.Comment
	if end := sentenceEnd.FindStringSubmatchIndex(text); end != nil {
		text = text[:end[3]]
	}
	if strings.HasSuffix(text, "..") {
		return text
	}
	return strings.TrimSuffix(text, ".")
}
