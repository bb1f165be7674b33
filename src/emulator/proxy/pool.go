package proxy

import (
	"cmp"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// pool chooses among the targets of a frontend.
type pool struct {
	ctx     context.Context
	probe   prober
	running *sync.WaitGroup

	mu      sync.Mutex
	policy  traffic.Policy
	check   *traffic.HealthCheck
	members []*member
	turn    int
}

// member is a target and what is known about its health.
type member struct {
	target traffic.Target
	health traffic.Health
	// streak counts results that contradict health; the first result of all
	// decides at once.
	streak  int
	tested  bool
	stop    context.CancelFunc
	carried *counter
}

func newPool(ctx context.Context, probe prober, running *sync.WaitGroup) *pool {
	return &pool{ctx: ctx, probe: probe, running: running}
}

// set makes the members those of a group. The ones that stay keep their health.
func (p *pool) set(group traffic.Group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	recheck := !sameCheck(p.check, group.Health)
	p.policy, p.check = group.Policy, group.Health
	before := map[traffic.Target]*member{}
	for _, m := range p.members {
		before[m.target] = m
	}
	members := make([]*member, 0, len(group.Targets))
	for _, target := range group.Targets {
		m, known := before[target]
		delete(before, target)
		if !known {
			m = &member{target: target, health: initialHealth(group.Health), carried: &counter{}}
		}
		if !known || recheck {
			p.watch(m)
		}
		members = append(members, m)
	}
	for _, gone := range before {
		gone.unwatch()
	}
	p.members = members
}

// initialHealth keeps traffic away from a target until its first good check.
func initialHealth(check *traffic.HealthCheck) traffic.Health {
	if check == nil {
		return traffic.Unchecked
	}
	return traffic.Unhealthy
}

func sameCheck(a, b *traffic.HealthCheck) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// watch starts checking a member according to the current health check. A
// member that was in use without a check stays in use until the first result.
func (p *pool) watch(m *member) {
	m.unwatch()
	m.tested, m.streak = false, 0
	if p.check == nil {
		m.health = traffic.Unchecked
		return
	}
	ctx, stop := context.WithCancel(p.ctx)
	m.stop = stop
	check := *p.check
	p.running.Go(func() {
		p.probe.watch(ctx, check, m.target.Address.Addr(), func(good bool) traffic.Health {
			return p.record(ctx, m, check, good)
		})
	})
}

func (m *member) unwatch() {
	if m.stop != nil {
		m.stop()
		m.stop = nil
	}
}

// record counts a result, unless it came after the check was stopped, and returns the health.
func (p *pool) record(ctx context.Context, m *member, check traffic.HealthCheck, good bool) traffic.Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return m.health
	}
	result, threshold := traffic.Unhealthy, check.UnhealthyThreshold
	if good {
		result, threshold = traffic.Healthy, check.HealthyThreshold
	}
	m.streak++
	if result == m.health {
		m.streak = 0
	}
	if !m.tested || m.streak >= threshold {
		m.health, m.streak = result, 0
	}
	m.tested = true
	return m.health
}

// candidates are the usable targets, in the order in which they are tried.
func (p *pool) candidates(source netip.Addr) []traffic.Target {
	p.mu.Lock()
	defer p.mu.Unlock()
	var usable []traffic.Target
	for _, m := range p.members {
		if m.health != traffic.Unhealthy {
			usable = append(usable, m.target)
		}
	}
	if len(usable) == 0 {
		return nil
	}
	switch p.policy {
	case traffic.Random:
		rand.Shuffle(len(usable), func(i, j int) { usable[i], usable[j] = usable[j], usable[i] })
		return usable
	case traffic.Maglev:
		return bySource(usable, source)
	default:
		first := p.turn % len(usable)
		p.turn++
		return slices.Concat(usable[first:], usable[:first])
	}
}

// bySource orders targets by a hash of source and target, so that a source
// keeps its target while others come and go.
func bySource(targets []traffic.Target, source netip.Addr) []traffic.Target {
	weight := map[traffic.Target]uint64{}
	for _, target := range targets {
		hash := fnv.New64a()
		// Writing to a hash never fails.
		_, _ = hash.Write([]byte(source.String() + " " + target.Machine + " " + target.Address.String()))
		weight[target] = hash.Sum64()
	}
	slices.SortFunc(targets, func(a, b traffic.Target) int {
		return cmp.Compare(weight[b], weight[a])
	})
	return targets
}

// has returns whether a target is still in the pool.
func (p *pool) has(target traffic.Target) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.members, func(m *member) bool { return m.target == target })
}

func (p *pool) status() []traffic.TargetStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []traffic.TargetStatus
	for _, m := range p.members {
		out = append(out, traffic.TargetStatus{Machine: m.target.Machine, Address: m.target.Address, Health: m.health,
			Counters: m.carried.read()})
	}
	return out
}
