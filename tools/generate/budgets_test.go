package generate

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
)

// TestBudgetPage names every budget, and which of them depend on the machine.
func TestBudgetPage(t *testing.T) {
	files, err := budgetPage().Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	page := string(files[budgetFile])
	for title, tt := range map[string]struct {
		all      []budget.Budget
		measured bool
	}{
		"Thalassa Cloud: counted": {budget.Thalassa(), false}, "Thalassa Cloud: measured": {budget.Thalassa(), true},
		"IronCore: counted": {budget.IronCore(), false}, "IronCore: measured": {budget.IronCore(), true},
	} {
		_, section, _ := strings.Cut(page, "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, b := range tt.all {
			row := "| " + b.Work + " | " + budget.Format(b.Limit) + " " + b.Unit + " |"
			if strings.Contains(section, row) != (b.Measured == tt.measured) {
				t.Errorf("%q is not where it belongs", row)
			}
		}
	}
}
