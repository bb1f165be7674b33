package service

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// progress is what was written for one Service, in one look or in several that follow each other directly, towards one
// desired state.
type progress struct {
	service  *corev1.Service
	machines []string
	// left counts by operation, for each one that was written, how many of the same text the plan had that were not
	// written yet.
	left map[string]int
}

// towards returns the progress towards a desired state: none when that is another one than before.
func (p *progress) towards(service *corev1.Service, machines []string) *progress {
	if p == nil || !cloud.SameDesired(p.service, service) || !slices.Equal(p.machines, machines) {
		return &progress{service: service, machines: machines, left: map[string]int{}}
	}
	return p
}

// check returns an error when the plan contains a write that was made already.
func (p *progress) check(plan cloud.Plan) error {
	needed := countOf(plan)
	for _, operation := range plan {
		text := operation.String()
		if left, written := p.left[text]; written && needed[text] > left {
			return fmt.Errorf("the cloud does not keep what is written: %q was written and is needed again, with %d "+
				"writes in all; "+
				"it is retried automatically; if the problem persists, look for another program that changes the "+
				"object, or ask the cloud's support", text, len(plan))
		}
	}
	return nil
}

// note records the writes that were made of a plan.
func (p *progress) note(plan, written cloud.Plan) {
	needed := countOf(plan)
	for text, times := range countOf(written) {
		p.left[text] = needed[text] - times
	}
}

// countOf is how often a plan contains each operation.
func countOf(plan cloud.Plan) map[string]int {
	counts := map[string]int{}
	for _, operation := range plan {
		counts[operation.String()]++
	}
	return counts
}

// errMore asks for the next look at once.
func errMore() error {
	return api.NewRetryError("there is more to be written than one look at a Service may; it goes on at once",
		time.Millisecond)
}
