package thalassa

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// candidates returns the targets, given which machines exist: those that do not exist, are being deleted, or are in
// another VPC are no targets. The Node may exist longer than its machine, and the cloud refuses the whole set because
// of one such machine.
func (b *balancers) candidates(ctx context.Context, targets cloud.Targets) (balancer.Candidates, error) {
	set := b.sets.of(targets)
	existing, unsure, err := b.inventory.TargetMachines(ctx, set.machines, b.config.Inventory.MaxBalancerAge())
	if err != nil {
		return balancer.Candidates{}, fmt.Errorf("choosing targets: %w", err)
	}
	return set.only(existing, unsure), nil
}

// targetSets are the latest targets, which many Services share, with what is computed from them.
type targetSets struct {
	mu     sync.Mutex
	latest []*targetSet // the newest first
}

// latestSets is how many are kept: Services with the same node selector share one.
const latestSets = 16

// targetSet is targets, and the candidates among them, given which machines exist.
type targetSet struct {
	targets  cloud.Targets
	machines []string

	mu               sync.Mutex
	existing, unsure []string
	candidates       *balancer.Candidates // nil: not computed yet
}

// of returns the set of targets.
func (s *targetSets) of(targets cloud.Targets) *targetSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.latest, func(one *targetSet) bool { return one.targets.Same(targets) })
	if at < 0 {
		added := &targetSet{targets: targets, machines: cloud.MachinesOf(targets.Serving, targets.Joining)}
		s.latest = append([]*targetSet{added}, s.latest[:min(len(s.latest), latestSets-1)]...)
		at = 0
	}
	return s.latest[at]
}

// only returns the candidates, given which machines exist, and for which this is not known.
func (s *targetSet) only(existing, unsure []string) balancer.Candidates {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.candidates == nil || !slices.Equal(s.existing, existing) || !slices.Equal(s.unsure, unsure) {
		candidates := balancer.NewCandidates(s.targets.Only(existing, unsure))
		s.existing, s.unsure, s.candidates = existing, unsure, &candidates
	}
	return *s.candidates
}

// identify returns the identity of a Node's machine. A Node is ours until it has the provider ID of another cloud.
func identify(node *corev1.Node) (identity string, ours bool) {
	machine, err := providerid.Machine(node.Spec.ProviderID)
	return machine, err == nil || node.Spec.ProviderID == "" || providerid.Owned(node.Spec.ProviderID)
}
