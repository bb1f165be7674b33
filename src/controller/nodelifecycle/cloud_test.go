package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// fakeCloud is a cloud that lists its machines. Tests replace its answers.
type fakeCloud struct {
	mu       sync.Mutex
	machines map[string]cloud.MachineState // by provider ID
	listed   map[string]cloud.MachineState
	began    time.Time

	// What it answers instead of the actual state; nil: the actual state.
	list             func(truth map[string]cloud.MachineState) (map[string]cloud.MachineState, error)
	confirm          func(id string, truth cloud.MachineState) (cloud.MachineState, error)
	checkCredentials func() error
	// names are machines by the name of a Node that had another machine.
	names map[string]string
	// before is called before an answer to Confirm, to change something meanwhile.
	before func()

	lists, confirms, credentialChecks int
}

const fakeScheme = "sky://"

// listAge is the greatest age of its list.
const listAge = time.Minute

func newFakeCloud() *fakeCloud { return &fakeCloud{machines: map[string]cloud.MachineState{}} }

// set changes it between calls.
func (c *fakeCloud) set(change func(*fakeCloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// machine sets the state of a Node's machine; Gone deletes it.
func (c *fakeCloud) machine(name string, state cloud.MachineState) {
	c.set(func(c *fakeCloud) {
		if c.machines[fakeScheme+name] = state; state == cloud.MachineGone {
			delete(c.machines, fakeScheme+name)
		}
	})
}

func (c *fakeCloud) actual(id string) cloud.MachineState {
	if state, there := c.machines[id]; there {
		return state
	}
	return cloud.MachineGone
}

// Owns implements Provider.
func (c *fakeCloud) Owns(id string) bool { return strings.HasPrefix(id, fakeScheme) }

// Find implements Provider.
func (c *fakeCloud) Find(context.Context, *corev1.Node, time.Time) (cloud.Machine, error) {
	return cloud.Machine{}, errors.New("not asked for here")
}

// State implements cloud.Machines.
func (c *fakeCloud) State(_ context.Context, node *corev1.Node, notBefore time.Time) (cloud.MachineState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node.Spec.ProviderID == fakeScheme {
		return "", fmt.Errorf("%w: %q", cloud.ErrInvalidProviderID, node.Spec.ProviderID)
	}
	if c.listed == nil || time.Since(c.began) > listAge {
		if err := c.refresh(); err != nil {
			return "", err
		}
	}
	if state, there := c.listed[node.Spec.ProviderID]; there {
		return state, nil
	}
	if c.began.Before(notBefore) {
		if err := c.refresh(); err != nil {
			return "", err
		}
	}
	if state, there := c.listed[node.Spec.ProviderID]; there {
		return state, nil
	}
	return cloud.MachineGone, nil
}

// NameConflict implements cloud.Machines.
func (c *fakeCloud) NameConflict(_ context.Context, node *corev1.Node) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := c.names[node.Name]; c.listed[id] == cloud.MachineRunning {
		return id, nil
	}
	return "", nil
}

// refresh requires mu to be held.
func (c *fakeCloud) refresh() error {
	c.lists++
	began, truth := time.Now(), maps.Clone(c.machines)
	if c.list != nil {
		var err error
		if truth, err = c.list(truth); err != nil {
			c.listed = nil
			return err
		}
	}
	c.listed, c.began = truth, began
	return nil
}

// Confirm implements Provider.
func (c *fakeCloud) Confirm(_ context.Context, node *corev1.Node) (cloud.MachineState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.confirms++
	if c.before != nil {
		c.before()
	}
	return c.answer(node.Spec.ProviderID)
}

// answer requires mu to be held.
func (c *fakeCloud) answer(id string) (cloud.MachineState, error) {
	if c.confirm != nil {
		return c.confirm(id, c.actual(id))
	}
	return c.actual(id), nil
}

// CheckCredentials implements cloud.Machines.
func (c *fakeCloud) CheckCredentials(_ context.Context, canaries []*corev1.Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credentialChecks++
	if c.checkCredentials != nil {
		return c.checkCredentials()
	}
	for _, canary := range canaries {
		if state, err := c.answer(canary.Spec.ProviderID); err == nil && state != cloud.MachineGone {
			return nil
		}
	}
	if len(canaries) > 0 {
		return fmt.Errorf("none of %d canaries has a machine", len(canaries))
	}
	return nil
}

// calls are those since the last call, as text.
func (c *fakeCloud) calls() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprintf("%d lists, %d credential checks, %d confirms", c.lists, c.credentialChecks, c.confirms)
	c.lists, c.credentialChecks, c.confirms = 0, 0, 0
	return text
}
