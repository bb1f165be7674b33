package reference

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestEventsFromElsewhere: in place of reasons of other programs, the page names reasons of this program.
func TestEventsFromElsewhere(t *testing.T) {
	content, err := os.ReadFile(checkout.Path(t, "docs/reference/names-from-elsewhere.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(content), "\n## Events\n")
	table, _, _ = strings.Cut(table, "\n## ")
	known, found := eventReasons(t), 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		for _, word := range quoted(cells[len(cells)-1]) {
			if _, reason, is := strings.Cut(word, "reason="); is {
				word = reason
			}
			if found++; len(cells) == 2 && !slices.Contains(known, word) {
				t.Errorf("the page names the reason %s, which does not exist", word)
			}
		}
	}
	if found == 0 {
		t.Error("the page names no reasons")
	}
}
