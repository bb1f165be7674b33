package generate

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/budget"
)

// TestBudgetPage names every budget, and which of them depend on the machine.
func TestBudgetPage(t *testing.T) {
	files, err := budgetPage().Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	counted, measured, found := strings.Cut(string(files[budgetFile]), "## Measured")
	if !found {
		t.Fatalf("page\n%s", files[budgetFile])
	}
	for _, b := range budget.All() {
		row := "| " + b.Work + " | " + budget.Format(b.Limit) + " " + b.Unit + " |"
		if strings.Contains(counted, row) == b.Measured || strings.Contains(measured, row) != b.Measured {
			t.Errorf("%q is not where it belongs", row)
		}
	}
}
