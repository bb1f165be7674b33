package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// Top is the result of the command top.
type Top struct {
	Header `json:",inline"`
	// At is the time of the reading.
	At            time.Time      `json:"at"`
	LoadBalancers []LoadBalancer `json:"loadBalancers"`
	// Calls are what the cloud controller manager does; nil if it is not known.
	Calls *Calls `json:"calls,omitempty"`
	// CallsUnknown is why calls are not known.
	CallsUnknown string `json:"callsUnknown,omitempty"`
	// Problem is why the result is older than the last refresh.
	Problem string `json:"problem,omitempty"`

	within string // the namespace that it is limited to; "" is all
}

// Calls are the calls of the cloud controller manager, by its metrics.
type Calls struct {
	// Window is the time that they are the average of, in seconds.
	Window float64 `json:"windowSeconds"`
	// PerMinute are the requests to the API of the cloud, WritesPerMinute the writes for Services and routes among
	// them.
	PerMinute       float64 `json:"perMinute"`
	WritesPerMinute float64 `json:"writesPerMinute"`
}

// LoadBalancer is the load balancer of one Service.
type LoadBalancer struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// State is the cloud's state, or none if there is no load balancer.
	State     string   `json:"state"`
	Addresses []string `json:"addresses,omitempty"`
	Ports     []string `json:"ports"` // 80/TCP
	Targets   int      `json:"targets"`
	// Health is what the cloud reports about the health of the targets.
	Health string `json:"health,omitempty"`
	// InSync means that the cloud agrees with the Service and is not busy with it, and that the Service has its
	// finalizer.
	InSync bool `json:"inSync"`
	// Changed is the time at which a condition of the Service about its load balancer changed last.
	Changed time.Time `json:"changed,omitzero"`
	// Error is why the state is not known.
	Error string `json:"error,omitempty"`
}

// Names returns the Services.
func (t Top) Names() []string {
	var names []string
	for _, one := range t.LoadBalancers {
		names = append(names, "service/"+one.Name)
	}
	return names
}

// Write writes a heading and a table.
func (t Top) Write(to terminal.Terminal, wide bool) {
	t.writeHeading(to)
	if len(t.LoadBalancers) == 0 {
		to.Indented(0, "", terminal.Plain, noLoadBalancers(t.within))
		return
	}
	table := terminal.Table{Columns: []terminal.Column{{Name: "SERVICE", Least: 14, Shorten: true},
		{Name: "STATE", Least: 8}, {Name: "ADDRESSES", Least: 15},
		{Name: "PORTS", Least: 9}, {Name: "TARGETS", Number: true}, {Name: "IN SYNC"},
		{Name: "CHANGED"}}}
	if wide {
		table.Columns = append(table.Columns, terminal.Column{Name: "UID"})
	}
	for _, one := range t.LoadBalancers {
		row := one.row(t.At)
		if wide {
			row = append(row, terminal.Cell{Text: one.UID})
		}
		table.Rows = append(table.Rows, row)
	}
	to.PrintTable(table)
	t.writeHealth(to)
}

// writeHeading writes the counts, the calls and the problems.
func (t Top) writeHeading(to terminal.Terminal) {
	words := []string{count(len(t.LoadBalancers), "load balancer")}
	if t.Calls != nil {
		words = append(words, fmt.Sprintf("%s calls per minute", rate(t.Calls.PerMinute)),
			fmt.Sprintf("%s writes per minute (of %s)", rate(t.Calls.WritesPerMinute),
				duration.HumanDuration(time.Duration(t.Calls.Window*float64(time.Second)))))
	}
	to.Indented(0, "", terminal.Strong, t.At.Format(time.TimeOnly)+"  "+strings.Join(words, ", "))
	if t.CallsUnknown != "" {
		to.Indented(0, "", terminal.Faint, "Calls are not known: "+t.CallsUnknown)
	}
	if t.Problem != "" {
		to.Indented(0, "", terminal.Bad, "Not refreshed: "+t.Problem)
	}
	to.Print("\n")
}

// rate is a number with one decimal, if it is small.
func rate(perMinute float64) string {
	if perMinute < 10 {
		return strconv.FormatFloat(perMinute, 'f', 1, 64)
	}
	return strconv.FormatFloat(perMinute, 'f', 0, 64)
}

// row returns the cells of a load balancer.
func (l LoadBalancer) row(at time.Time) []terminal.Cell {
	tone, synced := terminal.Good, terminal.Cell{Text: "yes", Tone: terminal.Good}
	if l.State != "ready" {
		tone = terminal.Caution
	}
	switch {
	case l.Error != "":
		synced = terminal.Cell{Text: "unknown", Tone: terminal.Bad}
	case !l.InSync:
		synced = terminal.Cell{Text: "no", Tone: terminal.Caution}
	}
	changed := ""
	if !l.Changed.IsZero() {
		changed = duration.HumanDuration(at.Sub(l.Changed))
	}
	return []terminal.Cell{{Text: l.Namespace + "/" + l.Name}, {Text: l.State, Tone: tone},
		{Text: strings.Join(l.Addresses, "\n")}, {Text: strings.Join(l.Ports, " ")}, {Text: strconv.Itoa(l.Targets)},
		synced, {Text: changed}}
}

// writeHealth writes what the cloud reports about the health of targets, and why states are not known: each text once.
func (t Top) writeHealth(to terminal.Terminal) {
	texts, of := []string{}, map[string][]string{}
	for _, one := range t.LoadBalancers {
		for _, text := range []string{one.Health, one.Error} {
			if text == "" {
				continue
			}
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], one.Namespace+"/"+one.Name)
		}
	}
	slices.Sort(texts)
	if len(texts) > 0 {
		to.Print("\n")
	}
	for _, text := range texts {
		if about := of[text]; len(about) < len(t.LoadBalancers) {
			text = strings.Join(about, ", ") + ": " + text
		}
		to.Indented(0, "", terminal.Plain, text)
	}
}
