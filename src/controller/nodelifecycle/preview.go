package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// previewWorkers is how many machines a preview requests at a time.
const previewWorkers = 8

// Preview is what the controller would do with a Node if nothing changes.
type Preview struct {
	// State is the state of the machine; "" if it was not requested or is not known.
	State cloud.MachineState
	// Err is why the state is not known; nil if it is known or was not requested.
	Err error
	// Action is one sentence about what would happen to the Node; "" if nothing would.
	Action string
	// Blocked is why the Node would not be deleted although its machine is missing; "" if nothing blocks it.
	Blocked string
}

// Previews returns what the controller would do with each of the Nodes of this cloud, by name, in a program in which it
// does not run. The Nodes are all of the cluster. It writes nothing.
//
// A preview is one pass. The controller deletes a Node after several, so that it may find other reasons not to.
func Previews(ctx context.Context, provider cloud.Machines, behaviour cloud.MachineBehaviour,
	nodes []*corev1.Node) (map[string]Preview, error) {
	c := &Controller{provider: provider, behaviour: behaviour, workers: previewWorkers,
		budget: budget{share: behaviour.MaxRemovals, window: behaviour.RemovalWindow}}
	subjects := c.subjects(nodes, time.Now())
	c.observeAll(ctx, subjects)
	valid := slices.DeleteFunc(slices.Clone(subjects), (*subject).invalidProviderID)
	for _, s := range valid {
		s.history, s.step = decide(s.history, s.observation, behaviour.GracePeriod)
	}
	c.store(valid)
	stopped := c.stopped(valid)
	previews := map[string]Preview{}
	for _, s := range subjects {
		previews[s.node.Name] = c.preview(ctx, s, stopped)
	}
	return previews, context.Cause(ctx)
}

// stopped is why no Node would be deleted now; "" if Nodes would be.
func (c *Controller) stopped(subjects []*subject) string {
	missing := slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool {
		return s.step != pending || s.observation.kept || drained(s.node)
	})
	now := time.Now()
	switch {
	case len(canariesOf(subjects)) == 0:
		return whyNoMachines
	case !c.budget.permits(uids(subjects), uids(missing), now):
		return c.budget.text(now) + ", and more would be deleted"
	}
	return ""
}

func (c *Controller) preview(ctx context.Context, s *subject, stopped string) Preview {
	p := Preview{Err: s.observation.err}
	if s.observation.observed && p.Err == nil {
		p.State = s.observation.state
	}
	switch s.step {
	case taint:
		p.Action = "It gets the taint " + cloudproviderapi.TaintNodeShutdown + "."
	case untaint:
		p.Action = "It loses the taint " + cloudproviderapi.TaintNodeShutdown + "."
	case unknownState:
		p.Action = "The state of its machine is not known to this version, so that the Node does not change."
	case pending, due:
		p.Action = fmt.Sprintf("Its machine does not exist. It is deleted if several checks within %s or longer "+
			"confirm that.", c.behaviour.GracePeriod)
		p.Blocked = c.blocked(ctx, s, stopped)
	case keep:
	}
	return p
}

// blocked is why a Node whose machine is missing would not be deleted.
func (c *Controller) blocked(ctx context.Context, s *subject, stopped string) string {
	switch _, text := c.blockedBy(ctx, s); {
	case text != "":
		return text
	case c.behaviour.DryRun:
		return whyDryRun
	case drained(s.node) && c.budget.share > 0 && stopped != whyNoMachines:
		return ""
	}
	return stopped
}
