package outage

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// cloud answers at some times only.
type cloud struct {
	*Monitor
	down   bool
	hangs  bool // a probe is not answered before its deadline
	probes int
	ends   int // reported
}

func (c *cloud) probe(ctx context.Context) error {
	c.probes++
	if c.hangs {
		<-ctx.Done()
	}
	c.Record(!c.down)
	if c.down {
		return errors.New("no answer")
	}
	return nil
}

// inBubble runs a test with a cloud that is monitored and answers.
func inBubble(t *testing.T, test func(c *cloud)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); synctest.Wait() }()
		c := &cloud{Monitor: NewMonitor()}
		go c.Run(ctx, c.probe)
		go c.Watch(ctx, func() { c.ends++ })
		synctest.Wait()
		test(c)
	})
}

// pass lets some time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestEnd: the end of an outage is reported once, soon after it.
func TestEnd(t *testing.T) {
	inBubble(t, func(c *cloud) {
		pass(time.Hour)
		if c.probes > 0 {
			t.Errorf("%d probes of a cloud that answers", c.probes)
		}
		for outage := 1; outage <= 2; outage++ {
			c.down = true
			c.Record(false)
			pass(time.Hour)
			if c.ends != outage-1 {
				t.Errorf("%d ends are reported during outage %d", c.ends, outage)
			}
			c.down = false
			pass(period)
			if c.ends != outage {
				t.Errorf("%d ends are reported %s after the end of outage %d", c.ends, period, outage)
			}
		}
		if want := 2 * int(time.Hour/period+1); c.probes > want {
			t.Errorf("%d probes in two hours, at most %d", c.probes, want)
		}
	})
}

// TestEndAfterAProbeThatHangs: connections that were begun during the outage may never be answered.
func TestEndAfterAProbeThatHangs(t *testing.T) {
	inBubble(t, func(c *cloud) {
		c.down, c.hangs = true, true
		c.Record(false)
		pass(period + time.Millisecond) // a probe has begun
		c.hangs = false
		pass(timeout) // it has failed
		c.down = false
		if pass(period); c.ends != 1 {
			t.Errorf("%d ends are reported", c.ends)
		}
	})
}

// TestShortOutage: single failures are not reported.
func TestShortOutage(t *testing.T) {
	inBubble(t, func(c *cloud) {
		for range 100 {
			c.Record(false)
			pass(period / 3)
			c.Record(true)
			pass(period / 3)
		}
		if c.ends > 0 || c.probes > 0 {
			t.Errorf("%d ends and %d probes after single failures", c.ends, c.probes)
		}
	})
}

// TestEndByAnotherCall: a call of somebody else that is answered ends the outage, too.
func TestEndByAnotherCall(t *testing.T) {
	inBubble(t, func(c *cloud) {
		c.down = true
		c.Record(false)
		pass(2*period + time.Second)
		c.Record(true)
		if synctest.Wait(); c.ends != 1 {
			t.Errorf("%d ends are reported", c.ends)
		}
	})
}

// TestOneCallThatFails: a call that always fails is no outage, if the cloud answers others. What failed waits for its
// pause.
func TestOneCallThatFails(t *testing.T) {
	inBubble(t, func(c *cloud) {
		for range 100 {
			c.Record(false)
			pass(2 * period)
		}
		if c.ends > 0 {
			t.Errorf("%d ends of outages are reported, and there was none", c.ends)
		}
	})
}
