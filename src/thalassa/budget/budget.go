// Package budget says what looking after Services and nodes may cost, in one table: tests hold the provider to what is counted, `make bench`
// measures the rest, and the documentation shows all of it.
package budget

import (
	"fmt"
	"strconv"
	"strings"
)

// Budget is the most that some work may cost.
type Budget struct {
	Name  string // "restart-calls": what tests and benchmarks call it
	Work  string // for people
	Limit float64
	Unit  string // of the limit: "calls"
	// Measured says that it depends on the machine, so that a figure a little above the limit proves nothing. The others are counted.
	Measured bool
}

// Slack is how many times a limit that is measured may be exceeded before it counts as broken: machines differ, and are busy.
const Slack = 3

// All returns all budgets, in the order in which people read them.
func All() []Budget {
	const (
		city       = "1,000 Services on 1,000 nodes"
		metropolis = "1,000 Services on 5,000 nodes"
	)
	all := []Budget{
		{Name: "restart-calls", Work: "a restart with " + city, Limit: 10, Unit: "calls"},
		{Name: "restart-writes", Work: "a restart: writes to cloud and Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "unchanged-calls", Work: "a look at 1,000 unchanged Services", Limit: 0, Unit: "calls"},
		{Name: "unchanged-writes", Work: "a look at 1,000 unchanged Services: writes to cloud and Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "quiet-calls", Work: "a quiet minute, looks for drift included", Limit: 10, Unit: "calls"},
		{Name: "quiet-writes", Work: "a quiet quarter of an hour: writes to cloud and Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "nodes-writes", Work: "nodes join or leave within a second, however many: for each target group", Limit: 1, Unit: "writes"},
		{Name: "nodes-lists", Work: "nodes join within a second: lists, of machines", Limit: 1, Unit: "calls"},
		{Name: "initialise-calls", Work: "1,000 new nodes are initialised", Limit: 5, Unit: "calls"},
		{Name: "initialise-patches", Work: "the same: writes to Kubernetes for each node, of its addresses and of the rest", Limit: 2, Unit: "writes"},
		{Name: "joins-calls", Work: "500 nodes join within seconds, some before the cloud shows their servers", Limit: 10, Unit: "calls"},
		{Name: "kept-calls", Work: "a quiet minute in which 1,000 nodes are kept true", Limit: 1, Unit: "calls"},
		{Name: "kept-writes", Work: "a quiet quarter of an hour in which 1,000 dual-stack nodes are kept true: writes to Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "create-writes", Work: "a new Service with two ports", Limit: 5, Unit: "writes"},
		{Name: "create-separately-writes", Work: "the same where the cloud takes no listeners at creation", Limit: 7, Unit: "writes"},
		{Name: "create-group-writes", Work: "a new Service with two ports and a security group of its own", Limit: 6, Unit: "writes"},
		{Name: "create-protections", Work: "a new Service: writes of its finalizer", Limit: 1, Unit: "writes"},
		{Name: "rush-seconds", Work: "200 new Services at once have addresses, when the cloud takes 30 s for each, at 50 requests a second", Limit: 60, Unit: "s"},
		{Name: "rush-refusals", Work: "the same at 10 requests a second, in a cloud that takes no more: refusals (429)", Limit: 0, Unit: "calls"},
	}
	all = append(all, lifeCycle()...)
	all = append(all, routes()...)
	all = append(all, measured("", city, 5, 0.2, 512, 128)...)
	all = append(all, measured("metropolis-", metropolis, 25, 1, 1024, 640)...)
	all = append(all, county()...)
	return append(all, steppe()...)
}

// lifeCycle are the budgets of looking whether the servers of nodes are there.
func lifeCycle() []Budget {
	const nodes = "5,000 nodes"
	return []Budget{
		{Name: "life-quiet-calls", Work: "a minute of looking whether the servers of " + nodes + " are there", Limit: 1, Unit: "calls"},
		{Name: "life-quiet-writes", Work: "five such minutes: writes to Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "life-some-calls", Work: "the same while 1 % of " + nodes + " are not ready", Limit: 1, Unit: "calls"},
		{Name: "life-some-writes", Work: "five such minutes: writes to Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "life-all-calls", Work: "the same while all of " + nodes + " are not ready", Limit: 1, Unit: "calls"},
		{Name: "life-all-writes", Work: "five such minutes: writes to Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "life-gone-seconds", Work: "1 % of " + nodes + ", which are not ready, are removed after their servers were deleted", Limit: 145, Unit: "s"},
		{Name: "life-gone-calls", Work: "the same: for each of the nodes", Limit: 1.5, Unit: "calls"},
		{Name: "life-many-seconds", Work: "1,000 of " + nodes + ", which are not ready, are removed after their servers were deleted", Limit: 300, Unit: "s"},
		{Name: "life-many-calls", Work: "the same: for each of the nodes", Limit: 1.02, Unit: "calls"},
	}
}

// routes are the budgets of giving nodes the networks of their pods, and routes to them.
func routes() []Budget {
	const nodes = "1,000 new nodes"
	return []Budget{
		{Name: "routes-first-seconds", Work: nodes + " at once have networks for pods and routes to them, at 50 requests a second", Limit: 30, Unit: "s"},
		{Name: "routes-first-calls", Work: "the same: for each of the nodes", Limit: 1.02, Unit: "calls"},
		{Name: "routes-first-patches", Work: "the same: writes to Kubernetes for each node, of its network and that it waits, and then has its route", Limit: 3, Unit: "writes"},
		{Name: "routes-quiet-calls", Work: "a quiet minute with routes to 1,000 nodes, looks for drift included", Limit: 0.5, Unit: "calls"},
		{Name: "routes-quiet-writes", Work: "a quiet quarter of an hour with routes to 1,000 nodes: writes to Kubernetes, and events", Limit: 0, Unit: "writes"},
		{Name: "routes-replaced-calls", Work: "one of 1,000 nodes with routes is replaced by another", Limit: 5, Unit: "calls"},
		{Name: "routes-replaced-patches", Work: "the same: writes to Kubernetes", Limit: 3, Unit: "writes"},
		{Name: "routes-joins-calls", Work: "500 nodes join 1,000 and have routes: for each of them", Limit: 1.02, Unit: "calls"},
		{Name: "routes-joins-patches", Work: "the same: writes to Kubernetes for each of them", Limit: 3, Unit: "writes"},
		{Name: "routes-exclusive-calls", Work: nodes + " at once have routes, in a table that is only this cluster's", Limit: 10, Unit: "calls"},
	}
}

// costs is what some work of a benchmark may take, in seconds, MiB and calls. Without seconds it takes as long as it is looked at.
type costs struct {
	name, work, of                       string
	seconds, cpu, calls, traffic, writes float64
}

func (l costs) budgets() []Budget {
	var all []Budget
	if l.seconds > 0 {
		all = append(all, Budget{Name: l.name + "-seconds", Work: l.work, Limit: l.seconds, Unit: "s", Measured: true})
	}
	return append(all,
		Budget{Name: l.name + "-cpu", Work: l.work, Limit: l.cpu, Unit: "CPU s", Measured: true},
		Budget{Name: l.name + "-calls", Work: l.work + ": calls", Limit: l.calls, Unit: "calls", Measured: true},
		Budget{Name: l.name + "-traffic", Work: l.work + ": read from the cloud", Limit: l.traffic, Unit: "MiB", Measured: true},
		Budget{Name: l.name + "-writes", Work: l.work + ": writes to Kubernetes" + l.of, Limit: l.writes, Unit: "writes", Measured: true})
}

// steppe are the budgets of routes in a large cluster.
func steppe() []Budget {
	const nodes = "5,000 nodes"
	var all []Budget
	for _, l := range []costs{
		{"steppe-first", nodes + " at once have networks for pods and routes to them, at 1,000 requests a second", ", for each", 30, 10, 5020, 15, 3},
		{"steppe-quiet", "a quiet minute with routes to " + nodes + ", which are looked at once", "", 0, 0.5, 2, 2, 0},
		{"steppe-replaced", "one of " + nodes + " with routes is replaced by another", "", 0, 0.5, 5, 2, 3},
		{"steppe-joins", "500 nodes join " + nodes + " and have routes", ", for each", 5, 2, 510, 2, 3},
	} {
		all = append(all, l.budgets()...)
	}
	return append(all,
		Budget{Name: "steppe-heap", Work: "live memory with routes to 5,500 nodes", Limit: 96, Unit: "MiB", Measured: true},
		Budget{Name: "steppe-memory", Work: "the process's memory at its highest, with routes to 5,500 nodes", Limit: 256, Unit: "MiB", Measured: true})
}

// county are the budgets of all that is done for nodes, in seconds, MiB and calls.
func county() []Budget {
	const nodes = "5,000 nodes"
	var all []Budget
	for _, l := range []costs{
		{"county-initialise", nodes + " at once are initialised", ", for each", 15, 8, 5, 30, 2},
		{"county-quiet", "a quiet minute with " + nodes, "", 0, 1.5, 1, 15, 0},
		{"county-some", "a minute in which 1 % of " + nodes + " are not ready", "", 0, 1.5, 1, 15, 0},
		{"county-all", "a minute in which all of " + nodes + " are not ready", "", 0, 1.5, 1, 15, 0},
		{"county-joins", "500 nodes join " + nodes, ", for each", 5, 3, 5, 30, 2},
	} {
		all = append(all, l.budgets()...)
	}
	return append(all,
		Budget{Name: "county-heap", Work: "live memory with 5,500 nodes", Limit: 128, Unit: "MiB", Measured: true},
		Budget{Name: "county-memory", Work: "the process's memory at its highest, with 5,500 nodes", Limit: 256, Unit: "MiB", Measured: true})
}

// measured are the budgets of a cluster of some size: seconds, MiB and MiB a minute.
func measured(prefix, size string, start, pass, memory, traffic float64) []Budget {
	return []Budget{
		{Name: prefix + "start-cpu", Work: "a start with " + size, Limit: start, Unit: "CPU s", Measured: true},
		{Name: prefix + "pass-cpu", Work: "a look at all unchanged Services of " + size, Limit: pass, Unit: "CPU s", Measured: true},
		{Name: prefix + "heap", Work: "live memory with " + size, Limit: memory, Unit: "MiB", Measured: true},
		{Name: prefix + "memory", Work: "the process's memory at its highest, with " + size, Limit: memory, Unit: "MiB", Measured: true},
		{Name: prefix + "traffic", Work: "read from the cloud in a quiet minute with " + size, Limit: traffic, Unit: "MiB", Measured: true},
		{Name: prefix + "first-address", Work: "a new Service has its address, when the cloud takes no time, with " + size, Limit: 1, Unit: "s", Measured: true},
	}
}

// Named returns the budget with that name.
func Named(name string) (Budget, error) {
	for _, b := range All() {
		if b.Name == name {
			return b, nil
		}
	}
	return Budget{}, fmt.Errorf("there is no budget %q: add it to package budget", name)
}

// Kept says whether a figure is within the budget, or not far enough beyond it to be told from a busy machine.
func (b Budget) Kept(figure float64) bool {
	if b.Measured {
		return figure <= Slack*b.Limit
	}
	return figure <= b.Limit
}

// Format is a figure with two digits behind the point at most.
func Format(figure float64) string {
	text := strconv.FormatFloat(figure, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Table is all budgets of one sort as a table in Markdown.
func Table(measured bool) string {
	var text strings.Builder
	text.WriteString("| Work | At most |\n|---|---|\n")
	for _, b := range All() {
		if b.Measured == measured {
			fmt.Fprintf(&text, "| %s | %s %s |\n", b.Work, Format(b.Limit), b.Unit)
		}
	}
	return text.String()
}
