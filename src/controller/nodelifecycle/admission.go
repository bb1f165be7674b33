package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/optout"
	"github.com/thalassa-cloud/thalassa-ccm/src/list"
)

// toBeDeleted is the key of the taint by which the cluster autoscaler marks a Node that it is about to remove.
const toBeDeleted = "ToBeDeletedByClusterAutoscaler"

// What Nodes are told that stay.
const (
	dryRunMessage   = "it would be deleted, but dryRun is set"
	noCanaryMessage = "the cloud shows no machine of any Node, so the organisation, project or VPC may be wrong; if " +
		"its machine was really deleted, delete the Node by hand, or start a machine of the cluster"
	replacedMessage = "another machine, %s, has its name and is not shut down, so its kubelet may use this Node. If " +
		"the Node does not become ready, delete it and restart the kubelet of that machine, which registers the Node " +
		"again"
)

func (c *Controller) keptMessage() string {
	return fmt.Sprintf("it has the annotation or label %s/%s", c.behaviour.Domain, optout.Keep)
}

// admitted are the Nodes that may be removed in this pass if a second look says so, those that are missing longest
// first. The owners of the others are told.
func (c *Controller) admitted(ctx context.Context, subjects []*subject, witnessed bool) []*subject {
	missing := c.candidates(ctx, subjects)
	eligible := slices.DeleteFunc(slices.Clone(missing), func(s *subject) bool { return s.step != due })
	now := time.Now()
	going := slices.DeleteFunc(slices.Clone(missing), func(s *subject) bool {
		return s.history.away || drained(s.node)
	})
	admits := c.budget.admits(uids(subjects), uids(going), now)
	switch {
	case admits:
		c.common.Forget(string(blockedAllowance))
	case witnessed:
		if held := slices.DeleteFunc(slices.Clone(eligible), func(s *subject) bool {
			return drained(s.node) && c.budget.share > 0
		}); len(held) > 0 {
			c.halt(held, len(going), now)
		}
	}
	if !witnessed {
		for _, s := range eligible {
			c.hold(s, blockedNoWitness, noCanaryMessage)
		}
	}
	if !witnessed || c.budget.share == 0 {
		return nil
	}
	if !admits {
		eligible = slices.DeleteFunc(eligible, func(s *subject) bool { return !drained(s.node) })
	}
	slices.SortStableFunc(eligible, func(a, b *subject) int { return a.history.missing.Compare(b.history.missing) })
	if !c.behaviour.Lists {
		eligible = eligible[:min(len(eligible), soloRemovals)]
	}
	return eligible
}

// drained says whether the Node was cordoned, or the cluster autoscaler is removing it. That its machine goes as well
// surprises nobody, so it does not count towards the share; everything else that must be known before it is removed
// must be known.
func drained(node *corev1.Node) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == toBeDeleted
	})
}

// candidates are the Nodes whose machines are missing and that would go, now or when that is believed. The owners of
// those that stay whatever is found out are told.
func (c *Controller) candidates(ctx context.Context, subjects []*subject) []*subject {
	var found []*subject
	for _, s := range subjects {
		if s.step != pending && s.step != due {
			continue
		}
		switch why, text := c.stays(ctx, s); {
		case why == "":
			found = append(found, s)
		case s.step == due:
			c.hold(s, why, text)
		}
	}
	return found
}

// stays says why a Node whose machine is missing is none that goes; "" for that it is one.
func (c *Controller) stays(ctx context.Context, s *subject) (why reason, text string) {
	if s.observation.kept {
		return blockedKept, c.keptMessage()
	}
	switch id, err := c.provider.NameConflict(ctx, s.node); {
	case err != nil:
		return blockedNoAnswer, fmt.Sprintf("the cloud did not answer whether another machine has its name: %v", err)
	case id != "":
		return blockedReplaced, fmt.Sprintf(replacedMessage, id)
	}
	if c.behaviour.DryRun && c.records[s.node.UID].blocked == blockedDryRun { // what would be done was done
		return blockedDryRun, dryRunMessage
	}
	return "", ""
}

func uids(subjects []*subject) []types.UID {
	ids := make([]types.UID, 0, len(subjects))
	for _, s := range subjects {
		ids = append(ids, s.node.UID)
	}
	return ids
}

// halt tells that no Node is removed for now: more would go than may. All of them are told together, and again now and
// then.
func (c *Controller) halt(eligible []*subject, missing int, now time.Time) {
	limit := c.budget.text(now)
	c.warnOnce(eligible, blockedAllowance, reasonRemovalsStopped, limit, fmt.Sprintf(
		"The machines of %d Nodes are missing: %s. %d Nodes were deleted recently. No Node is deleted until fewer "+
			"machines are missing: %s. If machines are missing without a reason, check the cloud's API and the "+
			"credentials. If they were really deleted, delete the Nodes by hand, or raise maxRemovals",
		missing, named(eligible), len(c.budget.removals), limit))
	for _, s := range eligible {
		c.hold(s, blockedAllowance, fmt.Sprintf("%s, and more would be deleted", limit))
	}
}

// named returns the names of the Nodes, for an event.
func named(subjects []*subject) string {
	names := make([]string, 0, len(subjects))
	for _, s := range subjects {
		names = append(names, s.node.Name)
	}
	return list.Short(names)
}
