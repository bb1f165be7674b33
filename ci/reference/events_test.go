package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

const (
	page       = "docs/reference/events.md"
	statusFile = "src/controller/service/status.go"
)

// rows are the cells of the page's table with the given heading, without the table's own heading.
func rows(t *testing.T, heading string) [][]string {
	t.Helper()
	content, err := os.ReadFile(checkout.Path(t, page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(content), "## "+heading)
	if !found {
		t.Fatalf("%s has no section %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var all [][]string
	for _, line := range regexp.MustCompile("(?m)^\\| (\\[?`.*) \\|$").FindAllStringSubmatch(section, -1) {
		all = append(all, strings.Split(line[1], " | "))
	}
	return all
}

// quoted are the words of a text that are in backquotes.
func quoted(text string) []string {
	var words []string
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		words = append(words, match[1])
	}
	return words
}

// named are the first cells of a table, sorted.
func named(t *testing.T, heading string) []string {
	t.Helper()
	var names []string
	for _, row := range rows(t, heading) {
		names = append(names, quoted(row[0])...)
	}
	slices.Sort(names)
	return names
}

// eventFiles are the files whose constants called reason… are those of events.
func eventFiles(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"thalassa/*.go", "thalassa/*/*.go", "ironcore/*.go", "ironcore/*/*.go",
		"reload/*.go", "controller/*/*.go"} {
		files, err := filepath.Glob(filepath.Join(checkout.Path(t, "src"), filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("files %v, error %v", files, err)
		}
		for _, file := range files {
			if filepath.Base(file) != filepath.Base(statusFile) && !strings.HasSuffix(file, "_test.go") {
				found = append(found, file)
			}
		}
	}
	return found
}

// eventReasons are those of the events that the program's own code makes: its constants called reason…, but those that
// only conditions have.
func eventReasons(t *testing.T) []string {
	t.Helper()
	var reasons []string
	for _, file := range eventFiles(t) {
		reasons = append(reasons, constants(t, file, "reason")...)
	}
	// What a cloud says of a Node or a route has the reason of its event in the contract.
	for _, prefix := range []string{"Machine", "Invalid", "Cloud"} {
		reasons = append(reasons, constants(t, checkout.Path(t, "src/cloud/machines.go"), prefix)...)
	}
	reasons = append(reasons, constants(t, checkout.Path(t, "src/cloud/routes.go"), "Route")...)
	slices.Sort(reasons)
	return slices.Compact(reasons) // clouds have reasons in common
}

// TestEventsPage: every reason of an event is on the page, and nothing else is.
func TestEventsPage(t *testing.T) {
	if diff := cmp.Diff(eventReasons(t), named(t, "Events")); diff != "" {
		t.Errorf("events (-code +page):\n%s", diff)
	}
}

// TestConditionsPage: every type of a condition is on the page with reasons that exist, and each reason that only
// conditions have.
func TestConditionsPage(t *testing.T) {
	types := append(constants(t, checkout.Path(t, statusFile), "condition"), topics(t)...)
	slices.Sort(types)
	if diff := cmp.Diff(types, named(t, "Conditions")); diff != "" {
		t.Errorf("conditions (-code +page):\n%s", diff)
	}
	own := constants(t, checkout.Path(t, statusFile), "reason")
	known := append(slices.Clone(own), eventReasons(t)...)
	var documented []string
	for _, row := range rows(t, "Conditions") {
		reasons := quoted(row[len(row)-1])
		if len(reasons) == 0 {
			t.Errorf("%s has no reason", row[0])
		}
		documented = append(documented, reasons...)
	}
	for _, reason := range documented {
		if !slices.Contains(known, reason) {
			t.Errorf("there is no reason %s", reason)
		}
	}
	for _, reason := range own {
		if !slices.Contains(documented, reason) {
			t.Errorf("the page does not say which condition has the reason %s", reason)
		}
	}
}

// topics are the types of the conditions that providers report.
func topics(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, name := range []string{"Settings", "Nodes"} {
		found = append(found, constants(t, checkout.Path(t, "src/cloud/loadbalancers.go"), name)...)
	}
	return found
}

// isState reports whether a constant is a state of a machine, which is no reason.
func isState(spec *ast.ValueSpec) bool {
	name, ok := spec.Type.(*ast.Ident)
	return ok && name.Name == "MachineState"
}

// constants are the values of a file's constants of text whose names begin so, but for states.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	return constantsNamed(t, file, func(name string) bool { return strings.HasPrefix(name, prefix) })
}

// constantsNamed are the values of a file's constants of text with these names, but for states.
func constantsNamed(t *testing.T, file string, wanted func(name string) bool) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !wanted(spec.Names[0].Name) || len(spec.Values) != 1 || isState(spec) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		return true
	})
	return found
}
