package generate

import (
	"context"
	"fmt"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
)

// budgetFile is the reference page of the limits of calls, writes, time and memory.
const budgetFile = "docs/reference/budgets.md"

// budgetPage generates the reference page from the table that tests and benchmarks use.
func budgetPage() Generator {
	return Generator{Name: "budgets", Files: func(context.Context, string) (map[string][]byte, error) {
		return map[string][]byte{budgetFile: []byte(renderBudgets())}, nil
	}}
}

func renderBudgets() string {
	return fmt.Sprintf(`# Budgets

<!-- Made by "make generate" from the tables in src/budget. -->

The limits of what the program costs: calls, writes, time and memory. Calls are to the API of the cloud. Writes are also to the API of
the cloud, unless the row says otherwise.

## Thalassa Cloud: counted

Tests check these limits in every version. They count the requests that the emulator receives.

%s
## Thalassa Cloud: measured

%s measures these values on your machine, with an emulator in its own process, and writes them to %s.
It fails if a value is above the limit. A time or a size of memory may be %d times the limit, because machines differ.
So may calls and data of the controllers of nodes (rows with nodes and without routes or Services), because they list
machines every six seconds, however long the work takes. Only %s measures the rows with 2,000 and
10,000 Services.

Half of the Services have one port, half have two, and all nodes are targets of each Service, unless the row says
otherwise. A row with Services is what the service controller alone costs. One minute of it is a fifth of a check for
drift. The controllers of nodes and of routes have rows of their own. Their periodic work runs ten times as often as
usual, so one minute takes six seconds.

%s
## IronCore: counted

Tests check these limits in every version. They count the requests to an IronCore API in memory. Watches are not counted, except for those
that begin with all objects, which count as lists. Nodes join and leave in a smaller cluster.

%s
## IronCore: measured

%s measures these values with an IronCore API in its own process.

%s`, budget.Table(budget.Thalassa(), false), "`make bench`", "`dist/bench.json`", budget.Slack,
		"`make bench LARGE=1`", budget.Table(budget.Thalassa(), true), budget.Table(budget.IronCore(), false),
		"`make bench`", budget.Table(budget.IronCore(), true))
}
