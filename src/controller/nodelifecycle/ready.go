package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

const (
	// maxConfirmations is how many machines of ready Nodes that the list lacks are requested in one pass.
	maxConfirmations = 3
	// askAgain is after how long one is asked for again for which there was no answer.
	askAgain = time.Minute
	// unansweredLimit is after how long without an answer one does not block others any more, if most ready Nodes have
	// machines.
	unansweredLimit = 10 * time.Minute
)

// rejectsList says whether the list contradicts ready Nodes, and warns about it. While a machine is being confirmed,
// nothing starts over.
func (c *Controller) rejectsList(ctx context.Context, batch, subjects []*subject) bool {
	why, open := c.inconsistency(ctx, subjects)
	switch {
	case why == "":
		return false
	case !open:
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

// inconsistency returns how the list contradicts ready Nodes: their kubelets report, so they have machines. One that
// names a machine which is really not there proves nothing: another one may have its name. Open says that it is being
// found out.
func (c *Controller) inconsistency(ctx context.Context, subjects []*subject) (why string, open bool) {
	if !c.behaviour.Lists {
		return "", false
	}
	ready := 0
	var absent []*subject
	for _, s := range subjects {
		switch {
		case !s.ready():
			continue
		case s.observation.err != nil:
			return fmt.Sprintf("looking at the machine of Node %s, which is ready: %v", s.node.Name, s.observation.err),
				false
		case s.absent():
			absent = append(absent, s)
		}
		ready++
	}
	if len(absent) > 0 && (len(absent) == ready || len(absent) > maxConfirmations && 2*len(absent) > ready) {
		return fmt.Sprintf("the cloud shows no machine for %s, although these Nodes are ready: check that it is the "+
			"right cloud; if it is, correct or delete these Nodes", named(absent)), false
	}
	return c.confirmReady(ctx, absent, 2*len(absent) < ready)
}

// confirmReady requests the machines of ready Nodes that the list lacks, a few at a time; few says that most ready
// Nodes are in the list.
func (c *Controller) confirmReady(ctx context.Context, absent []*subject, few bool) (why string, open bool) {
	var left []*subject
	asked := 0
	for _, s := range absent {
		h := &c.records[s.node.UID].history
		if asked < maxConfirmations && h.wantsAnswer(time.Now()) {
			asked++
			if !c.confirmOne(ctx, s, h) {
				return fmt.Sprintf("the cloud's list lacks the machine of Node %s, which is ready", s.node.Name), false
			}
		}
		if !h.explained(time.Now(), few) {
			left = append(left, s)
		}
	}
	if len(left) == 0 {
		return "", false
	}
	return fmt.Sprintf("the cloud shows no machine for %s, although these Nodes are ready; each of these machines is "+
		"being checked, a few at a time", named(left)), true
}

// confirmOne requests the machine of a ready Node that the list lacks. It returns false if the list should contain it.
func (c *Controller) confirmOne(ctx context.Context, s *subject, h *history) bool {
	state, err := c.ask(ctx, s.node)
	now := time.Now()
	switch {
	case err == nil && state != cloud.MachineGone:
		h.unansweredSince = time.Time{}
		return false
	case err == nil, errors.Is(err, cloud.ErrOtherNetwork):
		h.confirmedMissing, h.unansweredSince = true, time.Time{}
	case h.unansweredSince.IsZero(), now.Sub(h.asked) > unansweredLimit: // nobody asked for long
		h.unansweredSince = now
	}
	h.asked = now
	return true
}

// wantsAnswer says that it is time to ask for the machine of a ready Node which the list lacks.
func (h *history) wantsAnswer(now time.Time) bool {
	return !h.confirmedMissing && now.Sub(h.asked) >= askAgain
}

// explained says that the Node does not speak against the list: its machine is not there, or elsewhere; or nobody can
// say that for long, and there are few like that.
func (h *history) explained(now time.Time, few bool) bool {
	return h.confirmedMissing || few && !h.unansweredSince.IsZero() && now.Sub(h.unansweredSince) >= unansweredLimit
}
