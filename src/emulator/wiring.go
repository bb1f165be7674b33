package emulator

import (
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// Fabric is a DataPlane that also has machines, subnets, routes and security
// groups. The emulator calls Wire, Serve and Remove one at a time.
type Fabric interface {
	DataPlane
	// Wire makes the network as described. It gets the whole network after
	// every write and has to find out itself what is different. A load balancer
	// is in the network before Serve is called for it. After an error, what is
	// not yet as described is tried again with the next call, one second later.
	Wire(network traffic.Network) error
}

// NetworkState summarises the network of a data plane that has machines.
type NetworkState struct {
	// Problem says why the network is not as the API says; empty when it is.
	Problem string `json:"problem,omitempty"`
}

// rewire is how long after a failure the network is made again. A disk may be
// waiting for a program that has it open on another machine.
const rewire = time.Second

// wire passes the network to the data plane. What it cannot do is logged and
// kept for State.
func (e *Emulator) wire(now time.Time) error {
	fabric, wired := e.plane.(Fabric)
	if !wired {
		return nil
	}
	e.api.Store.Lock()
	network, next := e.api.Store.Network(now)
	e.api.Store.Unlock()
	problem := ""
	err := fabric.Wire(network)
	if err != nil {
		err = fmt.Errorf("making the network: %w", err)
		problem = err.Error()
		if before := e.problem.Load(); before == nil || *before != problem {
			e.log.Error("the network is not as the API says", "error", err)
		}
		if again := now.Add(rewire); next.IsZero() || again.Before(next) {
			next = again
		}
	}
	e.problem.Store(&problem)
	e.stopTimer(nextChange)
	if !next.IsZero() {
		e.timers[nextChange] = alarm{next, time.AfterFunc(next.Sub(now), func() { e.wake(nextChange) })}
	}
	return err
}
