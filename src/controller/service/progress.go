package service

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// writeProgress contains the writes for one Service and one desired state, in one reconciliation or in several that
// follow each other directly.
type writeProgress struct {
	service  *corev1.Service
	machines []string
	// remaining contains, for each operation that was written, the number of equal operations in the plan that were not
	// written yet.
	remaining map[string]int
}

// forDesired returns the progress for a desired state. It is empty if the desired state has changed.
func (p *writeProgress) forDesired(service *corev1.Service, machines []string) *writeProgress {
	if p == nil || !cloud.SameDesired(p.service, service) || !slices.Equal(p.machines, machines) {
		return &writeProgress{service: service, machines: machines, remaining: map[string]int{}}
	}
	return p
}

// check returns an error if the plan contains an operation that was already written.
func (p *writeProgress) check(plan cloud.Plan) error {
	needed := countWrites(plan)
	for _, operation := range plan {
		text := operation.String()
		if remaining, written := p.remaining[text]; written && needed[text] > remaining {
			return fmt.Errorf("the cloud does not keep what is written: %q was written and is needed again, with %d "+
				"writes in all; it is retried automatically; if the problem persists, look for another program that "+
				"changes the object, or ask the cloud's support", text, len(plan))
		}
	}
	return nil
}

// record records the operations of a plan that were written.
func (p *writeProgress) record(plan, written cloud.Plan) {
	needed := countWrites(plan)
	for text, times := range countWrites(written) {
		p.remaining[text] = needed[text] - times
	}
}

// countWrites counts how often a plan contains each operation.
func countWrites(plan cloud.Plan) map[string]int {
	counts := map[string]int{}
	for _, operation := range plan {
		counts[operation.String()]++
	}
	return counts
}

// errMoreWrites returns the error with which the next reconciliation follows at once.
func errMoreWrites() error {
	return api.NewRetryError("there is more to be written than one reconciliation may write; it continues at once",
		time.Millisecond)
}
