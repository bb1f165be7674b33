package generate

import (
	"context"
	"fmt"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/budget"
)

// budgetFile is the reference page of what looking after Services costs.
const budgetFile = "docs/reference/budgets.md"

// budgetPage makes the reference page from the table that tests and benchmarks use.
func budgetPage() Generator {
	return Generator{Name: "budgets", Files: func(context.Context, string) (map[string][]byte, error) {
		return map[string][]byte{budgetFile: []byte(renderBudgets())}, nil
	}}
}

func renderBudgets() string {
	return fmt.Sprintf(`# Budgets

<!-- Made by "make generate" from the table in src/thalassa/budget. -->

What looking after Services may cost. Calls and writes are to the cloud's API where nothing else is said.

## Counted

Tests hold every version to these, in front of the emulator, which counts.

%s
## Measured

%s measures these on your machine, against an emulator in a process of its own, and writes them to %s. It fails when one takes
more than %d times as much, which no busy machine explains. Half of the Services have one port and half two, and all nodes are targets of each.
What is done for nodes comes round ten times as fast as usual there, so a minute takes six seconds.

%s`, budget.Table(false), "`make bench`", "`dist/bench.json`", budget.Slack, budget.Table(true))
}
