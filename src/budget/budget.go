// Package budget contains the limits of calls, writes, time and memory, in one table for each cloud. Tests check the
// limits that are counted, `make bench` checks the limits that are measured, and the documentation shows both.
package budget

import (
	"fmt"
	"strconv"
	"strings"
)

// Budget is the most that some work may cost.
type Budget struct {
	Name  string // "restart-calls": the name in tests and benchmarks
	Work  string // for the documentation
	Limit float64
	Unit  string // of the limit: "calls"
	// Measured: `make bench` measures the figure, tests do not.
	Measured bool
	// Periodic: the work contains calls that are repeated in real time, so a slow machine has more of them.
	Periodic bool
	// Large figures are measured on demand, because that takes many minutes.
	Large bool
}

// LargeEnv is the environment variable that asks for the benchmarks with Large budgets, if it is "1".
const LargeEnv = "BENCH_LARGE"

// Slack is the factor by which a measured time or size of memory may exceed its limit, because machines differ and run
// other programs. Calls, writes and data do not depend on the machine, unless they are Periodic.
const Slack = 3

// Units of figures that depend on the machine. The unit of data is MiB.
const (
	unitTime   = "s"
	unitCPU    = "CPU s"
	unitMemory = "MiB of memory"
)

// All returns the budgets of all clouds.
func All() []Budget { return append(Thalassa(), IronCore()...) }

// Thalassa returns the budgets with Thalassa Cloud, in the order of the documentation.
func Thalassa() []Budget {
	const (
		size1000 = "1,000 Services on 1,000 nodes"
		size5000 = "1,000 Services on 5,000 nodes"
		batch    = "20 Services with load balancers for which the cloud takes 5 s"
	)
	all := []Budget{
		calls("restart-calls", 10, "a restart with "+size1000),
		writes("restart-writes", 0, "a restart: writes to the cloud and to Kubernetes, and events"),
		calls("unchanged-calls", 0, "a resync of 1,000 unchanged Services"),
		writes("unchanged-writes", 0,
			"a resync of 1,000 unchanged Services: writes to the cloud and to Kubernetes, and events"),
		calls("quiet-calls", 10, "one minute of the service controller without changes, including checks for drift"),
		{Name: "conditional-data", Limit: 0, Unit: "bytes", Work: "15 minutes of the service controller without " +
			"changes, if the cloud answers conditional requests: data read"},
		writes("quiet-writes", 0,
			"15 minutes of the service controller without changes: writes to the cloud and to Kubernetes, and events"),
		writes("nodes-writes", 1, "any number of nodes join or leave within a second: for each target group"),
		writes("subset-nodes-writes", 55, "one of 500 nodes joins or leaves, and load balancers have at most 25 "+
			"targets: for 1,000 target groups, 25 of 500 and 10 % more, and as many when replaced targets leave"),
		seconds("subset-joins-seconds", 60, "500 nodes join 500 nodes, and all of 2,000 target groups get other "+
			"targets, of which they have at most 25, at 50 requests a second"),
		calls("nodes-lists", 1, "nodes join within a second: lists of machines"),
		calls("initialise-calls", 5, "initialisation of 1,000 new nodes"),
		writes("initialise-patches", 2,
			"initialisation of new nodes: writes to Kubernetes for each node (one of its addresses, one of the rest)"),
		calls("joins-calls", 10, "500 nodes join within seconds, some before the cloud lists their machines"),
		calls("kept-calls", 1, "one minute without changes, with 1,000 nodes"),
		writes("kept-writes", 0,
			"15 minutes without changes, with 1,000 dual-stack nodes: writes to Kubernetes, and events"),
		writes("create-writes", 5, "a new Service with two ports"),
		writes("create-separately-writes", 7,
			"a new Service with two ports, if the cloud creates load balancers without listeners"),
		writes("create-group-writes", 6, "a new Service with two ports and its own security group"),
		writes("create-protections", 1, "a new Service: writes of its finalizer"),
		calls("delete-reads", 10, "20 Services are deleted at once: reads"),
		seconds("batch-create-seconds", 1.5, batch+" are made at once: from the address in the cloud to that in the "+
			"Service, the median"),
		calls("batch-create-lists", 10, batch+" are made at once: lists until all have addresses"),
		seconds("batch-delete-seconds", 1.5, batch+" are deleted at once: from the end of the load balancer in the "+
			"cloud to the end of the Service, the median"),
		calls("batch-delete-lists", 10, batch+" are deleted at once: lists until all have ended"),
		seconds("rush-seconds", 60,
			"200 new Services at once get addresses, if the cloud takes 30 s for each, at 50 requests a second"),
		calls("rush-refusals", 0,
			"200 new Services at once, at 10 requests a second, if the cloud accepts no more: status 429"),
	}
	all = append(all, lifeCycle()...)
	all = append(all, routes()...)
	all = append(all, measured("", size1000, 5, 0.2, 512, 128, 5)...)
	all = append(all, measured("5000x1000-", size5000, 25, 1, 1024, 640, 25)...)
	all = append(all, measured("5000x1000-subset-", size5000+" and at most 250 targets", 5, 1, 256, 40, 2)...)
	all = append(all, measure("5000x1000-subset-join-writes", 55, "writes",
		"one of 5,000 nodes joins, with at most 250 targets: for 1,000 target groups"))
	all = append(all, largest()...)
	all = append(all, largeNodes()...)
	all = append(all, largeRoutes()...)
	return append(all, volumes()...)
}

func calls(name string, limit float64, work string) Budget {
	return Budget{Name: name, Work: work, Limit: limit, Unit: "calls"}
}

func writes(name string, limit float64, work string) Budget {
	return Budget{Name: name, Work: work, Limit: limit, Unit: "writes"}
}

func seconds(name string, limit float64, work string) Budget {
	return Budget{Name: name, Work: work, Limit: limit, Unit: unitTime}
}

func measure(name string, limit float64, unit, work string) Budget {
	return Budget{Name: name, Work: work, Limit: limit, Unit: unit, Measured: true}
}

// lifeCycle are the budgets of checking whether the machines of nodes exist.
func lifeCycle() []Budget {
	const nodes = "5,000 nodes"
	return []Budget{
		calls("life-quiet-calls", 1, "one minute of checking whether the machines of "+nodes+" exist"),
		writes("life-quiet-writes", 0, "five minutes of these checks: writes to Kubernetes, and events"),
		calls("life-some-calls", 1, "one minute of these checks while 1 % of "+nodes+" are not ready"),
		writes("life-some-writes", 0,
			"five minutes while 1 % of "+nodes+" are not ready: writes to Kubernetes, and events"),
		calls("life-all-calls", 1, "one minute of these checks while all of "+nodes+" are not ready"),
		writes("life-all-writes", 0,
			"five minutes while all of "+nodes+" are not ready: writes to Kubernetes, and events"),
		seconds("life-gone-seconds", 145,
			"deletion of 1 % of "+nodes+", which are not ready, after their machines were deleted"),
		calls("life-gone-calls", 1.5, "deletion of 1 % of "+nodes+": for each deleted node"),
		seconds("life-many-seconds", 300,
			"deletion of 1,000 of "+nodes+", which are not ready, after their machines were deleted"),
		calls("life-many-calls", 1.02, "deletion of 1,000 of "+nodes+": for each deleted node"),
	}
}

// routes are the budgets of allocating pod networks to nodes, and of creating routes to these networks.
func routes() []Budget {
	const nodes = "1,000 new nodes"
	return []Budget{
		seconds("routes-first-seconds", 30, nodes+" at once get pod networks and routes, at 50 requests a second"),
		calls("routes-first-calls", 1.02, nodes+" at once get pod networks and routes: for each node"),
		writes("routes-first-patches", 3,
			nodes+" at once get pod networks and routes: writes to Kubernetes for each node "+
				"(one of its network, two of its condition)"),
		calls("routes-quiet-calls", 0.5,
			"one minute without changes, with routes to 1,000 nodes, including checks for drift"),
		writes("routes-quiet-writes", 0,
			"15 minutes without changes, with routes to 1,000 nodes: writes to Kubernetes, and events"),
		calls("routes-replaced-calls", 5, "replacement of one of 1,000 nodes with routes"),
		writes("routes-replaced-patches", 3, "replacement of one of 1,000 nodes with routes: writes to Kubernetes"),
		calls("routes-joins-calls", 1.02, "500 nodes join 1,000 nodes and get routes: for each new node"),
		writes("routes-joins-patches", 3,
			"500 nodes join 1,000 nodes and get routes: writes to Kubernetes for each new node"),
	}
}

// volumes are the budgets of the CSI driver.
func volumes() []Budget {
	const quiet = "one minute without changes, with 1,000 volumes that are listed every minute"
	const work = "100 new volumes at once are created and attached, if the cloud takes 30 s for each step"
	return []Budget{
		calls("csi-volumes-reads", 40, work+": reads"),
		calls("csi-volumes-growth", 5, work+": reads in addition to those of 10 volumes"),
		writes("csi-volumes-writes", 2, work+": for each volume"),
		seconds("csi-volumes-seconds", 80, work+", at 50 requests a second"),
		seconds("csi-volumes-later", 5, work+", at 50 requests a second: in addition to the time of 1 volume"),
		calls("csi-attached-calls", 1,
			"a volume that another process has attached is found to be attached, beside the lists: for each volume"),
		calls("csi-quiet-calls", 2, quiet),
		{Name: "csi-clusters-data", Limit: 0, Unit: "bytes", Work: "ten minutes in which a volume and a snapshot are " +
			"created, used and deleted every minute, with 200 other clusters in the organisation: data read in " +
			"addition to that without them"},
		measure("csi-quiet-cpu", 0.06, unitCPU, quiet),
		measure("csi-quiet-traffic", 2, "MiB", quiet+": data read"),
	}
}

// costs are the limits of some work of a benchmark, in seconds, MiB and calls. Without seconds, the duration is fixed.
type costs struct {
	name, work, of                       string
	seconds, cpu, calls, traffic, writes float64
}

func (l costs) budgets() []Budget {
	var all []Budget
	if l.seconds > 0 {
		all = append(all, measure(l.name+"-seconds", l.seconds, unitTime, l.work))
	}
	return append(all,
		measure(l.name+"-cpu", l.cpu, unitCPU, l.work),
		measure(l.name+"-calls", l.calls, "calls", l.work+": calls"),
		measure(l.name+"-traffic", l.traffic, "MiB", l.work+": data received from the cloud, compressed"),
		measure(l.name+"-writes", l.writes, "writes", l.work+": writes to Kubernetes"+l.of))
}

// largeRoutes are the budgets of routes in a cluster of 5,000 nodes, whose rows begin with routes-5000. Any of them may
// contain a list of machines, which is read every minute, and of the route tables, every six seconds.
func largeRoutes() []Budget {
	const nodes = "5,000 nodes"
	var all []Budget
	for _, l := range []costs{
		{
			"routes-5000-first", nodes + " at once get pod networks and routes, at 1,000 requests a second",
			", for each node",
			30, 10, 5020, 3, 3,
		},
		{
			"routes-5000-quiet", "one minute without changes, with routes to " + nodes + ", which are checked once", "",
			0, 0.5, 3, 0.3, 0,
		},
		{"routes-5000-replaced", "replacement of one of " + nodes + " with routes", "", 0, 0.5, 5, 0.3, 3},
		{"routes-5000-joins", "500 nodes join " + nodes + " and get routes", ", for each new node", 5, 2, 510, 0.5, 3},
	} {
		all = append(all, l.budgets()...)
	}
	return append(all,
		measure("routes-5000-heap", 96, unitMemory, "live memory with routes to 5,500 nodes"),
		measure("routes-5000-memory", 256, unitMemory, "peak memory of the process with routes to 5,500 nodes"))
}

// largeNodes are the budgets of the node controllers in a cluster of 5,000 nodes, whose rows begin with nodes-5000, in
// seconds, MiB and calls.
func largeNodes() []Budget {
	const nodes = "5,000 nodes"
	var all []Budget
	for _, l := range []costs{
		{"nodes-5000-initialise", "initialisation of " + nodes + " at once", ", for each node", 15, 8, 5, 0.5, 2},
		{"nodes-5000-quiet", "one minute without changes, with " + nodes, "", 0, 1.5, 1, 0.2, 0},
		{"nodes-5000-some", "one minute while 1 % of " + nodes + " are not ready", "", 0, 1.5, 1, 0.2, 0},
		{"nodes-5000-all", "one minute while all of " + nodes + " are not ready", "", 0, 1.5, 1, 0.2, 0},
		{"nodes-5000-joins", "500 nodes join " + nodes, ", for each new node", 5, 3, 5, 0.5, 2},
	} {
		all = append(all, l.budgets()...)
	}
	for i, b := range all {
		// Machines are listed again every six seconds of the benchmark, however long the work takes. That the real
		// period has one list a minute is checked in virtual time: kept-calls and life-*-calls.
		all[i].Periodic = b.Unit == "calls" || b.Unit == "MiB"
	}
	return append(all,
		measure("nodes-5000-heap", 128, unitMemory, "live memory with 5,500 nodes"),
		measure("nodes-5000-memory", 256, unitMemory, "peak memory of the process with 5,500 nodes"))
}

// measured are the budgets of a cluster of one size: seconds, MiB, and MiB per minute. Traffic is compressed data.
// With conditional requests, a minute may cost a quarter of a resync, of which there is one in five minutes.
func measured(prefix, size string, start, pass, memory, data, traffic float64) []Budget {
	const minute = "one minute of the service controller without changes"
	return []Budget{
		measure(prefix+"start-cpu", start, unitCPU, "a start with "+size),
		measure(prefix+"start-calls", 10, "calls",
			"a start with "+size+": calls, which are repeated every five minutes"),
		measure(prefix+"pass-cpu", pass, unitCPU, "a resync of all unchanged Services, with "+size),
		measure(prefix+"heap", memory, unitMemory, "live memory with "+size),
		measure(prefix+"memory", memory, unitMemory, "peak memory of the process with "+size),
		measure(prefix+"minute-calls", 1, "calls", minute+": calls, including checks for drift, with "+size),
		measure(prefix+"data", data, "MiB", minute+": data read, decompressed, with "+size),
		measure(prefix+"traffic", traffic, "MiB", minute+": data received, compressed, with "+size),
		measure(prefix+"conditional-cpu", pass/4, unitCPU, minute+", if the cloud answers conditional requests, with "+
			size),
		measure(prefix+"conditional-traffic", 0.01, "MiB", minute+", if the cloud answers conditional requests: data "+
			"received, with "+size),
		measure(prefix+"first-address", 1, unitTime,
			"a new Service gets its address, if the cloud needs no time, with "+size),
	}
}

// largest are the budgets of the largest clusters that Kubernetes supports.
func largest() []Budget {
	all := measured("5000x2000-", "2,000 Services with two ports on 5,000 nodes", 60, 2, 1024, 1700, 55)
	all = append(all, measured("5000x10000-", "10,000 Services with two ports on 5,000 nodes, and at most 25 targets",
		25, 2, 1024, 100, 3)...)
	all = append(all, measure("5000x10000-join-writes", 5.5, "writes",
		"one of 5,000 nodes joins, with 10,000 Services and at most 25 targets: for 1,000 target groups"))
	for i := range all {
		all[i].Large = true
	}
	return all
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

// Kept reports whether a figure is within the budget. If it was measured and depends on the machine, it may exceed the
// limit by the factor Slack.
func (b Budget) Kept(figure float64) bool {
	if b.Measured && (b.Periodic || b.Unit == unitTime || b.Unit == unitCPU || b.Unit == unitMemory) {
		return figure <= Slack*b.Limit
	}
	return figure <= b.Limit
}

// Format formats a figure with at most two decimals.
func Format(figure float64) string {
	text := strconv.FormatFloat(figure, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Table returns those of the budgets that are measured, or those that are counted, as a table in Markdown.
func Table(all []Budget, measured bool) string {
	var text strings.Builder
	text.WriteString("| Work | At most |\n|---|---|\n")
	for _, b := range all {
		if b.Measured == measured {
			fmt.Fprintf(&text, "| %s | %s %s |\n", b.Work, Format(b.Limit), b.Unit)
		}
	}
	return text.String()
}
