package manager

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestNamesFromElsewhere: the page about names of other programs has all flags of theirs that errors are about, and all
// controllers. The flags that it names in place of them exist.
func TestNamesFromElsewhere(t *testing.T) {
	content, err := os.ReadFile(checkout.Path(t, "docs/reference/names-from-elsewhere.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	wanted := controllerNames()
	for flag := range flagsElsewhere() {
		wanted = append(wanted, "--"+flag)
	}
	for _, name := range wanted {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page lacks `%s`", name)
		}
	}
	_, table, _ := strings.Cut(page, "\n## Files and flags\n")
	table, _, _ = strings.Cut(table, "\n## ")
	known := NewCommand(testBuild).Flags()
	var here []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		here = append(here, regexp.MustCompile("`--[a-z-]+").FindAllString(cells[len(cells)-1], -1)...)
	}
	if !slices.Contains(here, "`--cloud-config") {
		t.Errorf("the page names the flags %q", here)
	}
	for _, flag := range here {
		if name := strings.TrimPrefix(flag, "`--"); name != "help" && known.Lookup(name) == nil {
			t.Errorf("the page names the flag --%s, which does not exist", name)
		}
	}
}
