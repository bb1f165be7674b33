package plugin

import (
	"fmt"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// Migration is the result of the command migrate.
type Migration struct {
	Header `json:",inline"`
	// Ready means that no check found a problem.
	Ready bool `json:"ready"`
	// Existing are the workloads of the existing cloud controller manager.
	Existing []string `json:"existing,omitempty"`
	// Guide is the page about the change, from the root of the repository.
	Guide  string           `json:"guide,omitempty"`
	Checks []MigrationCheck `json:"checks"`
	// Services are those for which something changes, as far as the Services themselves show it.
	Services []ServiceDifference `json:"services"`
	// Plan is what would change in the cloud.
	Plan Plan `json:"plan"`
}

// MigrationCheck is the result of one check.
type MigrationCheck struct {
	// ID is existing, flags, configuration, lease or plan. A check may have several results.
	ID string `json:"id"`
	// Result is ok, warning, problem or unchecked.
	Result string `json:"result"`
	Text   string `json:"text"`
	// Next is the next step.
	Next string `json:"next,omitempty"`
}

// ServiceDifference is what changes for a Service.
type ServiceDifference struct {
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Differences []string `json:"differences"` // one sentence each
}

// Results of checks.
const (
	passed     = "ok"
	caution    = "warning"
	problem    = "problem"
	notChecked = "unchecked"
)

// add adds the result of a check.
func (m *migration) add(id, result, text, next string) {
	m.result.Checks = append(m.result.Checks, MigrationCheck{ID: id, Result: result, Text: text, Next: next})
}

// finish sets whether everything is ready.
func (m Migration) finish() Migration {
	m.Ready = true
	for _, one := range m.Checks {
		m.Ready = m.Ready && one.Result != problem && (one.Result != notChecked || one.ID != "plan")
	}
	return m
}

// Names returns the Services for which something changes.
func (m Migration) Names() []string {
	var names []string
	for _, one := range m.Services {
		names = append(names, "service/"+one.Name)
	}
	return names
}

// Write writes the checks, then the Services, then the plan.
func (m Migration) Write(to terminal.Terminal, wide bool) {
	tones := map[string]terminal.Tone{passed: terminal.Plain, caution: terminal.Caution, problem: terminal.Bad,
		notChecked: terminal.Faint}
	for _, one := range m.Checks {
		to.Indented(checkIndent, fmt.Sprintf("%-*s", checkIndent, one.Result), tones[one.Result], one.ID+": "+one.Text)
		if one.Next != "" {
			to.Indented(checkIndent, "", terminal.Plain, one.Next)
		}
	}
	to.Print("\n")
	for _, one := range m.Services {
		to.Indented(0, "", terminal.Strong, fmt.Sprintf("Service %s/%s", one.Namespace, one.Name))
		for _, difference := range one.Differences {
			to.Indented(4, "! ", terminal.Caution, difference)
		}
		to.Print("\n")
	}
	if len(m.Plan.Services) > 0 {
		m.Plan.Write(to, wide)
	}
	if m.Ready {
		to.Print("%s\n", to.Paint(terminal.Good, "Ready: this cloud controller manager can take over."))
		return
	}
	to.Indented(0, "", terminal.Bad, "Not ready. The guide describes the differences: "+m.Guide)
}

// checkIndent is the width of the column with the results of checks.
const checkIndent = 11
