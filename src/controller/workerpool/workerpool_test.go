package workerpool_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool"
)

// silent is a context without a log, and what ends it.
func silent(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
}

// plain is a queue without pauses, with these keys.
func plain(keys ...string) workqueue.TypedInterface[string] {
	queue := workqueue.NewTyped[string]()
	for _, key := range keys {
		queue.Add(key)
	}
	return queue
}

// began starts work on a queue; the channel is closed when it has ended.
func began(ctx context.Context, queue workqueue.TypedInterface[string], workers int,
	serve func(context.Context, string), beside ...func(context.Context)) (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		workerpool.Work(ctx, queue, workers, serve, beside...)
	}()
	return done
}

// over reports whether it has ended.
func over(ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

func TestSoManyWorkAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := silent(t)
		defer cancel()
		started := make(chan string, 3)
		ended := began(ctx, plain("a", "b", "c"), 2, func(_ context.Context, key string) {
			started <- key
			<-time.After(time.Second)
		})
		synctest.Wait()
		if len(started) != 2 {
			t.Errorf("%d keys are served at once by 2 workers", len(started))
		}
		<-time.After(time.Second)
		synctest.Wait()
		if len(started) != 3 {
			t.Errorf("%d of 3 keys were served", len(started))
		}
		cancel()
		<-ended
	})
}

// TestWhatIsUnderWayIsFinished after the end, and nothing else is begun.
func TestWhatIsUnderWayIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := silent(t)
		defer cancel()
		queue, finish := plain("a", "b"), make(chan struct{})
		var finished []string
		ended := began(ctx, queue, 1, func(_ context.Context, key string) {
			<-finish
			finished = append(finished, key)
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		if over(ended) {
			t.Error("it has ended with a key under way")
		}
		if !queue.ShuttingDown() {
			t.Error("the queue still takes keys")
		}
		close(finish)
		<-ended
		if !slices.Equal(finished, []string{"a"}) || queue.Len() > 0 {
			t.Errorf("finished %q, and %d are left, want only what was under way, and none", finished, queue.Len())
		}
	})
}

// TestWhatIsDoneBeside the keys begins with them, ends with the context, and is waited for.
func TestWhatIsDoneBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := silent(t)
		defer cancel()
		ended := began(ctx, plain(), 1, func(context.Context, string) {}, func(ctx context.Context) {
			<-ctx.Done()
			<-time.After(time.Minute)
		})
		synctest.Wait()
		cancel()
		<-time.After(time.Minute - time.Second)
		synctest.Wait()
		if over(ended) {
			t.Error("it has ended before what is done beside")
		}
		<-time.After(time.Second)
		synctest.Wait()
		if !over(ended) {
			t.Error("it goes on after all are done")
		}
	})
}

// TestEvery: the function is called each period until the context ends, and never without a period.
func TestEvery(t *testing.T) {
	for period, want := range map[time.Duration]int{time.Minute: 3, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Second)
			defer cancel()
			calls := 0
			workerpool.Every(ctx, period, func() { calls++ })
			if calls != want {
				t.Errorf("%d calls within three minutes with a period of %s, want %d", calls, period, want)
			}
		})
	}
}
