// Package workerpool is what controllers have in common, whatever they reconcile: workers that take keys from a queue
// and finish what they have begun.
//
//	workerpool.Work(ctx, queue, workers, serve)
package workerpool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// Work lets so many workers serve the keys of a queue, and others do what they do beside, until ctx ends. It shuts the
// queue down then, and returns when what is under way is done and all have returned. Keys that no worker has begun with
// by then are not served.
func Work(ctx context.Context, queue workqueue.TypedInterface[string], workers int, serve func(ctx context.Context,
	key string), beside ...func(context.Context)) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { work(ctx, queue, serve) })
	}
	for _, do := range beside {
		running.Go(func() { do(ctx) })
	}
	<-ctx.Done()
	queue.ShutDown()
	running.Wait()
}

// work takes keys from the queue until it is shut down, and has no more.
func work(ctx context.Context, queue workqueue.TypedInterface[string], serve func(context.Context, string)) {
	for {
		key, down := queue.Get()
		if down {
			return
		}
		if ctx.Err() == nil {
			trace(ctx, queue, serve, key)
		}
		queue.Done(key)
	}
}

// trace serves a key in a span. A queue with more to say about its keys has the method Attributes.
func trace(ctx context.Context, queue any, serve func(context.Context, string), key string) {
	ctx, span := tracing.StartItem(ctx, key)
	defer span.End()
	describer, describes := queue.(interface {
		Attributes(key string) []attribute.KeyValue
	})
	if describes && span.IsRecording() {
		span.SetAttributes(describer.Attributes(key)...)
	}
	serve(ctx, key)
}

// Every calls a function each period until ctx ends. Without a period it only waits.
func Every(ctx context.Context, period time.Duration, do func()) {
	if period <= 0 {
		<-ctx.Done()
		return
	}
	_ = wait.PollUntilContextCancel(ctx, period, false, func(context.Context) (bool, error) {
		do()
		return false, nil
	})
}

// Watch calls changed for each change of an object of an informer: before is nil if it was added, after is nil if it
// was deleted, and initial says that it existed before. It returns whether changed was called for all objects that
// existed.
func Watch[T any](informer cache.SharedIndexInformer,
	changed func(before, after *T, initial bool)) (cache.DoneChecker, error) {
	call := func(before, after any, initial bool) {
		was, _ := before.(*T)
		is, _ := after.(*T)
		if was != nil || is != nil {
			changed(was, is, initial)
		}
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { call(nil, object, initial) },
		UpdateFunc: func(before, after any) { call(before, after, false) },
		DeleteFunc: func(object any) {
			if late, missed := object.(cache.DeletedFinalStateUnknown); missed {
				object = late.Obj
			}
			call(object, nil, false)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", *new(T), err)
	}
	return registered.HasSyncedChecker(), nil
}

// A plan that was stale is computed again after staleDelay, which doubles each time: the cloud reports the newer
// version meanwhile. After maxStale times in a row, it is a failure.
const (
	staleDelay = 200 * time.Millisecond
	maxStale   = 8
)

// Stale is the number of plans in a row that were stale, cloud.ErrStale.
type Stale int

// TooOften reports whether a further stale plan is a failure.
func (s *Stale) TooOften() bool { return *s == maxStale }

// Next counts a stale plan, and returns the delay before the next one.
func (s *Stale) Next() time.Duration {
	*s = min(*s+1, maxStale)
	return staleDelay << (*s - 1)
}
