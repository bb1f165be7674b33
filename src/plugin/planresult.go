package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// APIVersion is the version of the results in JSON and YAML. Fields are added within a version, and neither removed nor
// changed.
const APIVersion = "kubectl.k8s.thalassa.cloud/v1"

// Header begins each result.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cloud is the value of --cloud-provider.
	Cloud string `json:"cloud"`
	// Workload is the Deployment or DaemonSet of the cloud controller manager; "" if a file configures the cloud.
	Workload string `json:"workload,omitempty"`
	// Version is the version of the cloud controller manager, from the tag of its image; it may be unknown.
	Version string `json:"version,omitempty"`
	// PluginVersion is the version of the plug-in, which computes the result.
	PluginVersion string `json:"pluginVersion"`
}

// Results returns an empty result of each kind, by the kind. The JSON schema is made from them.
func Results() map[string]terminal.Result {
	return map[string]terminal.Result{"Plan": Plan{}, "Doctor": Doctor{}, "Nodes": Nodes{}, "Orphans": Orphans{},
		"OrphanDeletion": OrphanDeletion{}, "Migration": Migration{}, "Top": Top{}}
}

// Plan is the result of the command plan.
type Plan struct {
	Header   `json:",inline"`
	Services []ServicePlan `json:"services"` // sorted by namespace and name
	Summary  Summary       `json:"summary"`

	within string // the namespace that it is limited to; "" is all
}

// ServicePlan is what the cloud controller manager would do for one Service.
type ServicePlan struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Deleting means that the Service needs no load balancer any more.
	Deleting bool `json:"deleting,omitempty"`
	// Operations are the writes to the cloud, in their order.
	Operations []Operation `json:"operations"`
	// AddFinalizer means that the finalizer of load balancers would be added to the Service.
	AddFinalizer bool `json:"addFinalizer,omitempty"`
	// Waiting is what the cloud is busy with.
	Waiting string `json:"waiting,omitempty"`
	// Refused is why a difference is not among the operations.
	Refused string `json:"refused,omitempty"`
	// Retains is why the load balancer stays when the Service is deleted.
	Retains string `json:"retains,omitempty"`
	// Notices are what the owner of the Service can change.
	Notices []Notice `json:"notices,omitempty"`
	// Error is why the difference is not known.
	Error string `json:"error,omitempty"`
	// State is the cloud's state of the load balancer, Health that of its targets.
	State     string   `json:"state,omitempty"`
	Health    string   `json:"health,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Targets   int      `json:"targets"`
}

// Operation is one write to the cloud.
type Operation struct {
	Verb   string `json:"verb"` // create, update or delete
	Kind   string `json:"kind"` // "target group"
	Name   string `json:"name"`
	Why    string `json:"why,omitempty"`
	Leaves string `json:"leaves,omitempty"` // what stays in the cloud after the write
}

// Notice is something that the owner of a Service can change.
type Notice struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Summary counts Services and operations.
type Summary struct {
	Services int `json:"services"`
	Changed  int `json:"changed"` // Services with operations
	Refused  int `json:"refused"` // Services with differences that cannot be written, and no operations
	Waiting  int `json:"waiting"` // Services that the cloud is busy with
	Errors   int `json:"errors"`  // Services whose difference is not known
	Create   int `json:"create"`
	Update   int `json:"update"`
	Delete   int `json:"delete"`
}

// Names returns the Services that would change.
func (p Plan) Names() []string {
	var names []string
	for _, one := range p.Services {
		if len(one.Operations) > 0 {
			names = append(names, "service/"+one.Name)
		}
	}
	return names
}

// Write writes the plan as a difference. With wide, Services without differences are listed, too.
func (p Plan) Write(to terminal.Terminal, wide bool) {
	for _, one := range p.Services {
		if wide || !one.inSync() || len(one.Notices) > 0 {
			one.write(to)
		}
	}
	switch {
	case p.Summary.Services == 0:
		to.Indented(0, "", terminal.Plain, noLoadBalancers(p.within))
	case p.Summary.Errors == 0 && !p.differs():
		to.Print("%s\n", to.Paint(terminal.Good, fmt.Sprintf("No changes: the cloud agrees with %s.",
			count(p.Summary.Services, "Service"))))
	default:
		to.Indented(0, "", terminal.Plain, fmt.Sprintf(
			"Plan: %d to create, %d to update, %d to delete, for %d of %s.%s",
			p.Summary.Create, p.Summary.Update, p.Summary.Delete, p.Summary.Changed,
			count(p.Summary.Services, "Service"), p.Summary.rest()))
	}
}

// noLoadBalancers says that no Service of a namespace, "" for all, has a load balancer.
func noLoadBalancers(within string) string {
	const of = " has a load balancer of this cloud controller manager."
	if within == "" {
		return "No Service" + of
	}
	return "No Service in the namespace " + within + of + " -A shows those of all namespaces."
}

// rest names the Services that are not in sync and have no operations.
func (s Summary) rest() string {
	var text string
	if s.Refused > 0 {
		text += fmt.Sprintf(" %s cannot be brought in line.", count(s.Refused, "Service"))
	}
	if s.Waiting > 0 {
		text += fmt.Sprintf(" The cloud is busy with %s.", count(s.Waiting, "Service"))
	}
	if s.Errors > 0 {
		text += fmt.Sprintf(" The difference of %s is not known.", count(s.Errors, "Service"))
	}
	return text
}

// count is "1 Service" or "2 Services".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// differs reports whether the cloud controller manager would write something, would if the cloud could, or waits for
// it.
func (p Plan) differs() bool {
	return slices.ContainsFunc(p.Services, func(one ServicePlan) bool {
		return !one.inSync() && one.Error == ""
	})
}

// inSync reports whether the cloud and the finalizer are as the Service wants them. There may be notices for its owner.
func (p ServicePlan) inSync() bool {
	return len(p.Operations) == 0 && p.Waiting+p.Refused+p.Error == "" && !p.AddFinalizer
}

// mark returns the beginning of the line of an operation, as in a diff.
func mark(verb string) (string, terminal.Tone) {
	switch cloud.Verb(verb) {
	case cloud.Create:
		return "+ ", terminal.Good
	case cloud.Delete:
		return "- ", terminal.Bad
	case cloud.Update:
	}
	return "~ ", terminal.Caution
}

// write writes the difference of one Service.
func (p ServicePlan) write(to terminal.Terminal) {
	heading := fmt.Sprintf("Service %s/%s", p.Namespace, p.Name)
	if len(p.Addresses) > 0 {
		heading += " (" + strings.Join(p.Addresses, ", ") + ")"
	}
	if p.Deleting {
		heading += ", needs no load balancer any more"
	}
	to.Indented(0, "", terminal.Strong, heading)
	for _, one := range p.Operations {
		first, tone := mark(one.Verb)
		line := one.Verb + " " + one.Kind + " " + one.Name
		if one.Why != "" {
			line += ": " + one.Why
		}
		to.Indented(4, first, tone, line)
		if one.Leaves != "" {
			to.Indented(4, "", terminal.Plain, one.Leaves)
		}
	}
	if p.AddFinalizer {
		to.Indented(4, "+ ", terminal.Good, "add the finalizer of load balancers to the Service")
	}
	for _, line := range []struct {
		label, text string
		tone        terminal.Tone
	}{
		{"Error: ", p.Error, terminal.Bad}, {"Not possible now: ", p.Refused, terminal.Caution},
		{"Waiting: ", p.Waiting, terminal.Caution}, {"Kept: ", p.Retains, terminal.Plain},
	} {
		if line.text != "" {
			to.Indented(4, "", line.tone, line.label+line.text)
		}
	}
	for _, one := range p.Notices {
		to.Indented(4, "! ", terminal.Caution, one.Reason+": "+one.Message)
	}
	if p.inSync() {
		to.Indented(4, "", terminal.Faint, "no changes")
	}
	to.Print("\n")
}
