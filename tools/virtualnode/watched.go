package virtualnode

import (
	"context"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// watched is the watch of one kind of object.
type watched struct {
	cache.SharedIndexInformer
	// kind is what it reads, in the plural.
	kind string
	// trouble is the last reason why it could not.
	trouble atomic.Pointer[error]
}

func newWatched(kind string, informer cache.SharedIndexInformer) *watched {
	return &watched{SharedIndexInformer: informer, kind: kind}
}

// on calls handle with every object that is added, changed or deleted. It comes before the watch
// is started.
func (w *watched) on(handle func(metav1.Object)) error {
	each := func(object any) {
		if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = last.Obj
		}
		if o, ok := object.(metav1.Object); ok {
			handle(o)
		}
	}
	if err := w.SetWatchErrorHandlerWithContext(w.note); err != nil {
		return fmt.Errorf("watching %s: %w", w.kind, err)
	}
	_, err := w.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    each,
		UpdateFunc: func(_, object any) { each(object) },
		DeleteFunc: each,
	})
	return err
}

// note remembers why the objects cannot be read.
func (w *watched) note(ctx context.Context, r *cache.Reflector, err error) {
	w.trouble.Store(&err)
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// complete waits until all objects that existed have been read. When ctx ends before, it says what
// could not be read and why.
func complete(ctx context.Context, all []*watched) error {
	var synced []cache.InformerSynced
	for _, w := range all {
		synced = append(synced, w.HasSynced)
	}
	if cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	err := context.Cause(ctx)
	for _, w := range all {
		if !w.HasSynced() {
			err = fmt.Errorf("%w; %w", err, w.failure())
		}
	}
	return err
}

func (w *watched) failure() error {
	if trouble := w.trouble.Load(); trouble != nil {
		return fmt.Errorf("reading %s for the first time: %w", w.kind, *trouble)
	}
	return fmt.Errorf("reading %s for the first time: the API server has not answered", w.kind)
}
