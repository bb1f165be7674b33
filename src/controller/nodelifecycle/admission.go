package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// Messages about Nodes that are not deleted.
const (
	dryRunMessage   = "it would be deleted, but dryRun is set"
	noCanaryMessage = "the cloud shows no machine of any Node, so the organisation, project or VPC may be wrong; if " +
		"its machine was really deleted, delete the Node by hand, or start a machine of the cluster"
	replacedMessage = "another machine, %s, has its name and is not shut down, so its kubelet may use this Node. If " +
		"the Node does not become ready, delete it and restart the kubelet of that machine, which registers the Node " +
		"again"
)

func (c *Controller) keptMessage() string {
	return fmt.Sprintf("it has the annotation or label %s/%s", c.behaviour.Domain, cloud.KeepNode)
}

// removable are the Nodes that may be deleted in this pass if a second request confirms it, the one that is missing
// longest first. It reports why the others are blocked.
func (c *Controller) removable(ctx context.Context, subjects []*subject, hasCanaries bool) []*subject {
	missing := c.candidates(ctx, subjects)
	eligible := slices.DeleteFunc(slices.Clone(missing), func(s *subject) bool { return s.step != due })
	now := time.Now()
	counted := slices.DeleteFunc(slices.Clone(missing), func(s *subject) bool {
		return s.history.inOtherNetwork || drained(s.node)
	})
	permitted := c.budget.permits(uids(subjects), uids(counted), now)
	switch {
	case permitted:
		c.common.Forget(string(blockedBudget))
	case hasCanaries:
		if blocked := slices.DeleteFunc(slices.Clone(eligible), func(s *subject) bool {
			return drained(s.node) && c.budget.share > 0
		}); len(blocked) > 0 {
			c.blockRemovals(blocked, len(counted), now)
		}
	}
	if !hasCanaries {
		for _, s := range eligible {
			c.hold(s, blockedNoCanary, noCanaryMessage)
		}
	}
	if !hasCanaries || c.budget.share == 0 {
		return nil
	}
	if !permitted {
		eligible = slices.DeleteFunc(eligible, func(s *subject) bool { return !drained(s.node) })
	}
	slices.SortStableFunc(eligible, func(a, b *subject) int { return a.history.missing.Compare(b.history.missing) })
	if !c.behaviour.Lists {
		eligible = eligible[:min(len(eligible), maxRemovalsWithoutLists)]
	}
	return eligible
}

// drained reports whether the Node is cordoned, or the cluster autoscaler is removing it. The loss of its machine is
// expected, so it does not count towards the share. All other conditions for its deletion still apply.
func drained(node *corev1.Node) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == cloud.TaintToBeDeleted
	})
}

// candidates are the Nodes whose machines are missing and that nothing blocks. It reports why the others are blocked.
func (c *Controller) candidates(ctx context.Context, subjects []*subject) []*subject {
	var found []*subject
	for _, s := range subjects {
		if s.step != pending && s.step != due {
			continue
		}
		switch why, text := c.blockedBy(ctx, s); {
		case why == "":
			found = append(found, s)
		case s.step == due:
			c.hold(s, why, text)
		}
	}
	return found
}

// blockedBy is why a Node whose machine is missing is not deleted; "" if nothing blocks it.
func (c *Controller) blockedBy(ctx context.Context, s *subject) (why reason, text string) {
	if s.observation.kept {
		return blockedKept, c.keptMessage()
	}
	switch id, err := c.provider.NameConflict(ctx, s.node); {
	case err != nil:
		return blockedNoAnswer, fmt.Sprintf("the cloud did not answer whether another machine has its name: %v", err)
	case id != "":
		return blockedReplaced, fmt.Sprintf(replacedMessage, id)
	}
	if c.behaviour.DryRun && c.records[s.node.UID].blocked == blockedDryRun { // the dry run reported it
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

// blockRemovals reports that no Node is deleted now, because more are missing than the budget permits. There is one
// event for all of them, which is repeated as long as this lasts.
func (c *Controller) blockRemovals(eligible []*subject, missing int, now time.Time) {
	limit := c.budget.text(now)
	c.warnOnce(eligible, blockedBudget, reasonRemovalsStopped, limit, fmt.Sprintf(
		"The machines of %d Nodes are missing: %s. %d Nodes were deleted recently. No Node is deleted until fewer "+
			"machines are missing: %s. If machines are missing without a reason, check the cloud's API and the "+
			"credentials. If they were really deleted, delete the Nodes by hand, or raise maxRemovals",
		missing, nodeNames(eligible), len(c.budget.removals), limit))
	for _, s := range eligible {
		c.hold(s, blockedBudget, fmt.Sprintf("%s, and more would be deleted", limit))
	}
}

// nodeNames returns the names of the Nodes, for an event.
func nodeNames(subjects []*subject) string {
	names := make([]string, 0, len(subjects))
	for _, s := range subjects {
		names = append(names, s.node.Name)
	}
	return event.Names(names)
}
