package outage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// cloud answers at some times only.
type cloud struct {
	*Monitor
	down   atomic.Bool
	hangs  atomic.Bool // a probe is not answered before its deadline
	probes atomic.Int64
	ends   atomic.Int64 // reported
}

func (c *cloud) probe(ctx context.Context) error {
	c.probes.Add(1)
	if c.hangs.Load() {
		<-ctx.Done()
	}
	down := c.down.Load()
	c.Record(!down)
	if down {
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
		go c.Watch(ctx, func() { c.ends.Add(1) })
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
		if c.probes.Load() > 0 {
			t.Errorf("%d probes of a cloud that answers", c.probes.Load())
		}
		for outage := int64(1); outage <= 2; outage++ {
			c.down.Store(true)
			c.Record(false)
			pass(time.Hour)
			if c.ends.Load() != outage-1 {
				t.Errorf("%d ends are reported during outage %d", c.ends.Load(), outage)
			}
			c.down.Store(false)
			pass(period)
			if c.ends.Load() != outage {
				t.Errorf("%d ends are reported %s after the end of outage %d", c.ends.Load(), period, outage)
			}
		}
		if want := 2 * int64(time.Hour/period+1); c.probes.Load() > want {
			t.Errorf("%d probes in two hours, at most %d", c.probes.Load(), want)
		}
	})
}

// TestEndAfterAProbeThatHangs: connections that were begun during the outage may never be answered.
func TestEndAfterAProbeThatHangs(t *testing.T) {
	inBubble(t, func(c *cloud) {
		c.down.Store(true)
		c.hangs.Store(true)
		c.Record(false)
		pass(period + time.Millisecond) // a probe has begun
		c.hangs.Store(false)
		pass(timeout) // it has failed
		c.down.Store(false)
		if pass(period); c.ends.Load() != 1 {
			t.Errorf("%d ends are reported", c.ends.Load())
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
		if c.ends.Load() > 0 || c.probes.Load() > 0 {
			t.Errorf("%d ends and %d probes after single failures", c.ends.Load(), c.probes.Load())
		}
	})
}

// TestEndByAnotherCall: a call of somebody else that is answered ends the outage, too.
func TestEndByAnotherCall(t *testing.T) {
	inBubble(t, func(c *cloud) {
		c.down.Store(true)
		c.Record(false)
		pass(2*period + time.Second)
		c.Record(true)
		if synctest.Wait(); c.ends.Load() != 1 {
			t.Errorf("%d ends are reported", c.ends.Load())
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
		if c.ends.Load() > 0 {
			t.Errorf("%d ends of outages are reported, and there was none", c.ends.Load())
		}
	})
}

// TestAwaitEnd: AwaitEnd returns as soon as an outage has ended, and nobody waits for a cloud that answers.
func TestAwaitEnd(t *testing.T) {
	inBubble(t, func(c *cloud) {
		wait := func(longest time.Duration) (bool, time.Duration) {
			ctx, stop := context.WithTimeout(context.WithoutCancel(t.Context()), longest)
			defer stop()
			began := time.Now()
			return c.AwaitEnd(ctx), time.Since(began)
		}
		if ended, after := wait(time.Minute); ended || after > 0 {
			t.Errorf("a cloud that answers: %t after %s", ended, after)
		}
		c.down.Store(true)
		c.Record(false)
		if ended, after := wait(time.Minute); ended || after != time.Minute {
			t.Errorf("in the outage: %t after %s", ended, after)
		}
		time.AfterFunc(time.Hour, func() { c.down.Store(false) })
		if ended, after := wait(2 * time.Hour); !ended || after > time.Hour+period {
			t.Errorf("at its end: %t after %s", ended, after)
		}
	})
}
