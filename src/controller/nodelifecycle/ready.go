package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

const (
	// maxConfirmations limits the requests in one pass for machines of ready Nodes that the list does not contain.
	maxConfirmations = 3
	// requestInterval is the time between two requests for a machine without an answer.
	requestInterval = time.Minute
	// unansweredLimit is the time without an answer after which a Node does not block others any more, if most ready
	// Nodes have machines.
	unansweredLimit = 10 * time.Minute
)

// rejectsList reports whether the list contradicts ready Nodes, and warns about it. While a machine is being confirmed,
// nothing starts over.
func (c *Controller) rejectsList(ctx context.Context, batch, subjects []*subject) bool {
	why, confirming := c.inconsistency(ctx, subjects)
	switch {
	case why == "":
		return false
	case !confirming:
		c.blockAll(batch, blockedList, why)
		return true
	}
	for _, s := range batch {
		c.hold(s, blockedList, why)
	}
	return true
}

// observeReady observes the machines of the ready Nodes again, in the newest list.
func (c *Controller) observeReady(ctx context.Context, subjects []*subject) {
	if !c.behaviour.Lists {
		return
	}
	for _, s := range subjects {
		if s.ready() {
			c.observe(ctx, s, time.Time{})
		}
	}
}

// inconsistency returns how the list contradicts ready Nodes, which have machines because their kubelets report. A Node
// whose machine certainly does not exist proves nothing, because its kubelet may run on a machine of the same name.
// Confirming says that machines are still being requested.
func (c *Controller) inconsistency(ctx context.Context, subjects []*subject) (why string, confirming bool) {
	if !c.behaviour.Lists {
		return "", false
	}
	ready := 0
	var missing []*subject
	for _, s := range subjects {
		switch {
		case !s.ready():
			continue
		case s.observation.err != nil:
			return fmt.Sprintf(whyReadyNotKnown, s.node.Name, s.observation.err), false
		case s.missing():
			missing = append(missing, s)
		}
		ready++
	}
	if len(missing) > 0 && (len(missing) == ready || len(missing) > maxConfirmations && 2*len(missing) > ready) {
		return fmt.Sprintf(whyAllReadyMissing, nodeNames(missing)), false
	}
	return c.confirmReady(ctx, missing, 2*len(missing) < ready)
}

// confirmReady requests the machines of ready Nodes that the list does not contain, a few at a time. MostListed says
// that the list contains those of most ready Nodes.
func (c *Controller) confirmReady(ctx context.Context, missing []*subject,
	mostListed bool) (why string, confirming bool) {
	var unexplained []*subject
	requests := 0
	for _, s := range missing {
		h := &c.records[s.node.UID].history
		if requests < maxConfirmations && h.requestDue(time.Now()) {
			requests++
			if !c.confirmOne(ctx, s, h) {
				return fmt.Sprintf(whyReadyMissing, s.node.Name), false
			}
		}
		if !h.explained(time.Now(), mostListed) {
			unexplained = append(unexplained, s)
		}
	}
	if len(unexplained) == 0 {
		return "", false
	}
	return fmt.Sprintf(whyReadyBeingChecked, nodeNames(unexplained)), true
}

// confirmOne requests the machine of a ready Node that the list does not contain. It returns false if the list should
// contain it.
func (c *Controller) confirmOne(ctx context.Context, s *subject, h *history) bool {
	state, err := c.confirm(ctx, s.node)
	now := time.Now()
	switch {
	case err == nil && state != cloud.MachineGone:
		h.unansweredSince = time.Time{}
		return false
	case err == nil, errors.Is(err, cloud.ErrOtherNetwork):
		h.confirmedMissing, h.unansweredSince = true, time.Time{}
	case h.unansweredSince.IsZero(), now.Sub(h.requested) > unansweredLimit: // the latest request was long ago
		h.unansweredSince = now
	}
	h.requested = now
	return true
}

// requestDue says that the machine of a ready Node which the list does not contain is to be requested.
func (h *history) requestDue(now time.Time) bool {
	return !h.confirmedMissing && now.Sub(h.requested) >= requestInterval
}

// explained says that the Node does not contradict the list: its machine does not exist or is in another network, or
// requests for it are not answered for long and the list contains most machines.
func (h *history) explained(now time.Time, mostListed bool) bool {
	return h.confirmedMissing || mostListed && !h.unansweredSince.IsZero() &&
		now.Sub(h.unansweredSince) >= unansweredLimit
}
