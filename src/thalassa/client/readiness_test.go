package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadinessAsksRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Readiness
		var asked atomic.Int32
		outage := errors.New("outage")
		probe := func(context.Context) error {
			asked.Add(1)
			return outage
		}
		for range 60 { // a minute of probes, one a second
			_ = r.Check(func() error { return nil }, probe)
			<-time.After(time.Second)
		}
		if got := asked.Load(); got != 6 {
			t.Errorf("a minute of readiness probes made %d calls, want one each %s", got, ProbeInterval)
		}
		if err := r.Check(func() error { return nil }, probe); !errors.Is(err, outage) {
			t.Errorf("readiness = %v, want the reason of the last attempt", err)
		}
		<-time.After(ProbeInterval)
	})
}
