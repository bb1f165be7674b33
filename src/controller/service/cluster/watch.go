package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watchBody is the body of the response to a watch. It contains one change after the other, until the reader closes it
// or the request ends.
type watchBody struct {
	cluster  *Cluster
	resource string
	ctx      context.Context
	cancel   context.CancelFunc
	next     int    // index in the history
	buffer   []byte // events that were not read yet
}

// event is one event of a watch.
type event struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch starts a watch. If the request includes initial events, it begins with all objects.
func (c *Cluster) watch(ctx context.Context, s *store, query url.Values) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &watchBody{cluster: c, resource: s.resource.Resource, next: len(c.history)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	if query.Get("sendInitialEvents") == "true" {
		return w, c.sendInitialEvents(w, s)
	}
	if text := query.Get("resourceVersion"); text != "" && text != "0" {
		version, err := strconv.Atoi(text)
		if err != nil || version < 0 || version > len(c.history) {
			w.cancel()
			return nil, apierrors.NewBadRequest("there is no version " + text)
		}
		w.next = version
	}
	return w, nil
}

// sendInitialEvents sends all objects, and the bookmark that marks their end. The caller holds mu.
func (c *Cluster) sendInitialEvents(w *watchBody, s *store) error {
	for _, object := range s.sorted() {
		text, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("writing %s: %w", keyOf(object), err)
		}
		if err := w.send(watch.Added, text); err != nil {
			return err
		}
	}
	bookmark := metav1.PartialObjectMetadata{TypeMeta: s.meta, ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(len(c.history)),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	text, err := json.Marshal(bookmark)
	if err != nil {
		return fmt.Errorf("writing the end of what there is: %w", err)
	}
	return w.send(watch.Bookmark, text)
}

func (w *watchBody) send(verb watch.EventType, text []byte) error {
	line, err := json.Marshal(event{verb, text})
	if err != nil {
		return fmt.Errorf("writing a change: %w", err)
	}
	w.buffer = append(append(w.buffer, line...), '\n')
	return nil
}

// Read waits for the next change.
func (w *watchBody) Read(into []byte) (int, error) {
	for len(w.buffer) == 0 {
		changed, err := w.advance()
		if err != nil {
			return 0, err
		}
		if changed == nil {
			continue
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(into, w.buffer)
	w.buffer = w.buffer[n:]
	return n, nil
}

// advance sends the next change. If there is none, it returns a channel that the next change closes.
func (w *watchBody) advance() (changed <-chan struct{}, err error) {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; w.next < len(c.history); w.next++ {
		if next := c.history[w.next]; next.resource == w.resource {
			w.next++
			return nil, w.send(next.verb, next.text)
		}
	}
	return c.changed, nil
}

// Close ends the watch.
func (w *watchBody) Close() error {
	w.cancel()
	return nil
}
