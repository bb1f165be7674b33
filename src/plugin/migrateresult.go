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
	// Guide is the address of the page about the change.
	Guide string `json:"guide,omitempty"`
	// Checks have the IDs existing, flags, configuration, lease and plan. A check may have several results.
	Checks []Check `json:"checks"`
	// Services are those for which something changes, as far as the Services themselves show it.
	Services []ServiceDifference `json:"services"`
	// Plan is what would change in the cloud.
	Plan Plan `json:"plan"`
}

// ServiceDifference is what changes for a Service.
type ServiceDifference struct {
	Namespace   string   `json:"namespace"`
	Name        string   `json:"name"`
	Differences []string `json:"differences"` // one sentence each
}

// add adds the result of a check.
func (m *migration) add(id string, status CheckStatus, message, next string) {
	m.result.Checks = append(m.result.Checks, Check{ID: id, Status: status, Message: message, Next: next})
}

// finish sets whether everything is ready.
func (m Migration) finish() Migration {
	m.Ready = true
	for _, one := range m.Checks {
		m.Ready = m.Ready && one.Status != CheckProblem && (one.Status != NotChecked || one.ID != "plan")
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
	for _, one := range m.Checks {
		one.write(to, one.ID)
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
	to.Indented(0, "", terminal.Bad, "Not ready. These differences are described in "+m.Guide)
}
