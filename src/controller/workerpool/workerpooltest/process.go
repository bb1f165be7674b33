// Package workerpooltest runs controllers as a process does, in tests in virtual time: with informers of their own, one
// process after the other, and records their events. The cluster they work on outlives them, and is changed as its
// owners do.
package workerpooltest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// Process is what runs controllers, and records their events. It is made by New.
type Process struct {
	// Recorder records the events. If it is full, controllers wait.
	Recorder *record.FakeRecorder
	tb       testing.TB
	end      func()
}

// New returns a process that has not begun. It ends with the test.
func New(tb testing.TB) *Process {
	tb.Helper()
	p := &Process{tb: tb, Recorder: record.NewFakeRecorder(10000), end: func() {}}
	tb.Cleanup(p.End)
	return p
}

// Begin starts a process without the state of the one before, after that has ended. It starts the informers that build
// requests, of this client, and then calls run, which has to return when its context ends; it is given no log. An error
// of build ends the test.
func (p *Process) Begin(client kubernetes.Interface,
	build func(informers.SharedInformerFactory) (run func(context.Context), err error)) {
	p.tb.Helper()
	p.End()
	factory := informers.NewSharedInformerFactory(client, 0)
	run, err := build(factory)
	if err != nil {
		p.tb.Fatal(err)
	}
	// Tests say when it ends; their own context would end it while they clean up.
	ctx, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(p.tb.Context()), klog.Logger{}))
	factory.StartWithContext(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	p.end = func() {
		cancel()
		<-ended
		factory.Shutdown()
	}
}

// End ends the process, if it runs, and returns when all of it has.
func (p *Process) End() {
	p.end()
	p.end = func() {}
}

// Events are the events since the last time, as "Type Reason Message", in their order.
func (p *Process) Events() (events []string) {
	for {
		select {
		case event := <-p.Recorder.Events:
			events = append(events, event)
		default:
			return events
		}
	}
}

// Reasons are those of the events since the last time, sorted.
func (p *Process) Reasons() []string {
	var reasons []string
	for _, event := range p.Events() {
		reasons = append(reasons, strings.Fields(event)[1])
	}
	slices.Sort(reasons)
	return reasons
}

// Pass lets time pass in a synctest bubble, and what is due happen.
func Pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
