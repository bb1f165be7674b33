package faulttest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// guard looks at the cloud whenever it may have changed.
type guard struct {
	cloud  *emulator.Emulator
	always func(was, is emulator.State) error // nil: everything may be

	mu     sync.Mutex
	latest emulator.State
	broken []string
}

// newGuard takes what the cloud is now for right.
func newGuard(cloud *emulator.Emulator, always func(was, is emulator.State) error) *guard {
	g := &guard{cloud: cloud, always: always}
	if always != nil {
		g.latest = cloud.State()
	}
	return g
}

// look compares the cloud with the latest look.
func (g *guard) look(when string) {
	if g == nil || g.always == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.latest
	g.latest = g.cloud.State()
	if err := g.always(was, g.latest); err != nil {
		g.broken = append(g.broken, fmt.Sprintf("%s: %v", when, err))
	}
}

// problems are what was wrong, oldest first.
func (g *guard) problems() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.broken)
}
