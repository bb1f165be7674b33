package plugin

import (
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// Nodes is the result of the command nodes.
type Nodes struct {
	Header  `json:",inline"`
	Nodes   []NodeState `json:"nodes"` // sorted by name
	Summary NodeSummary `json:"summary"`
}

// NodeState is a Node with its machine.
type NodeState struct {
	Name string `json:"name"`
	// Status is Ready, NotReady, or ShutDown for a Node that is not ready and has the shutdown taint.
	Status     string `json:"status"`
	ProviderID string `json:"providerID,omitempty"`
	// Machine identifies the machine in the cloud; "" if it is not known.
	Machine string `json:"machine,omitempty"`
	// MachineState is running, stopped, deleting, gone or unknown; "" if it is not known.
	MachineState string `json:"machineState,omitempty"`
	// Managed means that the Node is of this cloud.
	Managed bool `json:"managed"`
	// Uninitialised means that the Node has the taint of Nodes that wait for the cloud controller manager.
	Uninitialised bool     `json:"uninitialised,omitempty"`
	Zone          string   `json:"zone,omitempty"`
	Type          string   `json:"type,omitempty"`
	Addresses     []string `json:"addresses,omitempty"`
	// Changes are what the cloud controller manager would write to the Node.
	Changes []string `json:"changes,omitempty"`
	// Problems are what a person has to solve.
	Problems []Problem `json:"problems"`
	// Notes are what else a person may want to know.
	Notes []string `json:"notes,omitempty"`
}

// Problem is what is wrong, and what to do about it.
type Problem struct {
	Reason  string `json:"reason"` // of the event about it, if there is one: "MachineNotFound"
	Message string `json:"message"`
}

// NodeSummary counts the Nodes of this cloud.
type NodeSummary struct {
	Nodes    int `json:"nodes"`
	Ready    int `json:"ready"`
	Changed  int `json:"changed"`  // Nodes to which something would be written
	Problems int `json:"problems"` // Nodes with problems
}

func summaryOf(states []NodeState) NodeSummary {
	var summary NodeSummary
	for _, one := range states {
		if !one.Managed && len(one.Problems) == 0 {
			continue
		}
		summary.Nodes++
		if one.Status == statusReady {
			summary.Ready++
		}
		if len(one.Changes) > 0 {
			summary.Changed++
		}
		if len(one.Problems) > 0 {
			summary.Problems++
		}
	}
	return summary
}

// Names returns all Nodes.
func (n Nodes) Names() []string {
	var names []string
	for _, one := range n.Nodes {
		names = append(names, "node/"+one.Name)
	}
	return names
}

// leastMachine is the least width of the columns that are reduced so that the table fits.
const leastMachine = 14

// Write writes a table, and below it what there is to say about Nodes.
func (n Nodes) Write(to terminal.Terminal, wide bool) {
	if len(n.Nodes) == 0 {
		to.Print("The cluster has no Nodes.\n")
		return
	}
	table := terminal.Table{Columns: []terminal.Column{
		{Name: "NODE", Least: leastMachine, Shorten: true}, {Name: "STATUS"},
		{Name: "MACHINE", Least: leastMachine}, {Name: "STATE"}}}
	if wide { // identities are complete, because people copy them
		table.Columns[2].Least = 0
		table.Columns = append(table.Columns, terminal.Column{Name: "ZONE"}, terminal.Column{Name: "TYPE"},
			terminal.Column{Name: "ADDRESSES", Least: leastMachine})
	}
	table.Columns = append(table.Columns, terminal.Column{Name: "PROBLEM"})
	for _, one := range n.Nodes {
		table.Rows = append(table.Rows, one.cells(wide))
	}
	to.PrintTable(table)
	to.Print("\n")
	for _, one := range n.Nodes {
		one.write(to)
	}
	s := n.Summary
	to.Print("%s, %d ready, %d with problems.\n", count(s.Nodes, "Node"), s.Ready, s.Problems)
}

func (n NodeState) cells(wide bool) []terminal.Cell {
	cells := []terminal.Cell{{Text: n.Name}, {Text: n.Status, Tone: toneOf(n.Status == statusReady)},
		{Text: known(n.Machine)}, {Text: known(n.MachineState)}}
	if wide {
		cells = append(cells, terminal.Cell{Text: known(n.Zone)}, terminal.Cell{Text: known(n.Type)},
			terminal.Cell{Text: known(strings.Join(n.Addresses, " "))})
	}
	switch {
	case len(n.Problems) > 0:
		return append(cells, terminal.Cell{Text: n.Problems[0].Reason, Tone: terminal.Bad})
	case len(n.Changes) > 0:
		return append(cells, terminal.Cell{Text: "differs", Tone: terminal.Caution})
	}
	return append(cells, terminal.Cell{Text: known("")})
}

// write writes the problems, differences and notes of a Node, if there are any.
func (n NodeState) write(to terminal.Terminal) {
	if len(n.Problems)+len(n.Changes)+len(n.Notes) == 0 {
		return
	}
	to.Indented(0, "", terminal.Strong, "Node "+n.Name)
	for _, one := range n.Problems {
		to.Indented(4, "", terminal.Bad, one.Reason+": "+one.Message)
	}
	if len(n.Changes) > 0 {
		to.Indented(4, "~ ", terminal.Caution, "The cloud controller manager would set: "+strings.Join(n.Changes, ", "))
	}
	for _, one := range n.Notes {
		to.Indented(4, "", terminal.Plain, one)
	}
	to.Print("\n")
}

func toneOf(good bool) terminal.Tone {
	if good {
		return terminal.Good
	}
	return terminal.Bad
}

// known is a value, or a mark that there is none.
func known(value string) string {
	if value == "" {
		return "-"
	}
	return value
}
