package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	cloud "github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
)

const (
	// maxStrange is how many ready Nodes without a machine are asked for in one pass.
	maxStrange = 3
	// askAgain is after how long one is asked for again for which there was no answer.
	askAgain = time.Minute
	// muteLimit is after how long without an answer one does not stand in the way of others any more, if most ready Nodes have machines.
	muteLimit = 10 * time.Minute
)

// doubted says whether there is a reason not to believe the list, and tells that. What only has to be found out does not begin anew.
func (c *Controller) doubted(ctx context.Context, batch, subjects []*subject) bool {
	why, open := c.doubts(ctx, subjects)
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

// lookAtReady looks once more at the machines of the Nodes that are ready, in the newest list.
func (c *Controller) lookAtReady(ctx context.Context, subjects []*subject) {
	if !c.behaviour.Lists {
		return
	}
	for _, s := range subjects {
		if s.ready() {
			c.lookAt(ctx, s, time.Time{})
		}
	}
}

// doubts says why the list is not to be believed, from the Nodes that are ready: their kubelets report, so they have machines. One that
// names a machine which is really not there proves nothing: another one may have its name. Open says that it is being found out.
func (c *Controller) doubts(ctx context.Context, subjects []*subject) (why string, open bool) {
	if !c.behaviour.Lists {
		return "", false
	}
	ready := 0
	var absent []*subject
	for _, s := range subjects {
		switch {
		case !s.ready():
			continue
		case s.sight.err != nil:
			return fmt.Sprintf("looking at the machine of Node %s, which is ready: %v", s.node.Name, s.sight.err), false
		case s.absent():
			absent = append(absent, s)
		}
		ready++
	}
	if len(absent) > 0 && (len(absent) == ready || len(absent) > maxStrange && 2*len(absent) > ready) {
		return fmt.Sprintf("the cloud shows no machine for %s, although these Nodes are ready: check that it is the right cloud; if it is, correct or delete these Nodes", named(absent)), false
	}
	return c.askForStrange(ctx, absent, 2*len(absent) < ready)
}

// askForStrange asks for the machines of ready Nodes which the list lacks, a few at a time; few says that most ready Nodes are not like that.
func (c *Controller) askForStrange(ctx context.Context, absent []*subject, few bool) (why string, open bool) {
	var left []*subject
	asked := 0
	for _, s := range absent {
		h := &c.records[s.node.UID].history
		if asked < maxStrange && h.wantsAnswer(time.Now()) {
			asked++
			if !c.askStrange(ctx, s, h) {
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
	return fmt.Sprintf("the cloud shows no machine for %s, although these Nodes are ready; each of these machines is being checked, a few at a time", named(left)), true
}

// askStrange asks for the machine of a ready Node which the list lacks. It is false when the machine is where lists should show it.
func (c *Controller) askStrange(ctx context.Context, s *subject, h *history) bool {
	state, err := c.ask(ctx, s.node)
	now := time.Now()
	switch {
	case err == nil && state != cloud.Gone:
		h.mute = time.Time{}
		return false
	case err == nil, errors.Is(err, cloud.ErrElsewhere):
		h.odd, h.mute = true, time.Time{}
	case h.mute.IsZero(), now.Sub(h.asked) > muteLimit: // nobody asked for long
		h.mute = now
	}
	h.asked = now
	return true
}

// wantsAnswer says that it is time to ask for the machine of a ready Node which the list lacks.
func (h *history) wantsAnswer(now time.Time) bool { return !h.odd && now.Sub(h.asked) >= askAgain }

// explained says that the Node does not speak against the list: its machine is not there, or elsewhere; or nobody can say that for long,
// and there are few like that.
func (h *history) explained(now time.Time, few bool) bool {
	return h.odd || few && !h.mute.IsZero() && now.Sub(h.mute) >= muteLimit
}
