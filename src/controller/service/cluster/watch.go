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

// watching is the body of the answer to a watch: one change after the other, until its reader closes it or the request
// ends.
type watching struct {
	cluster  *Cluster
	resource string
	ctx      context.Context
	end      context.CancelFunc
	next     int    // in the history
	unread   []byte // of what is told already
}

// event is one line of a watch.
type event struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch begins to tell changes, after everything there is if that is asked for.
func (c *Cluster) watch(ctx context.Context, k *kind, query url.Values) (io.ReadCloser, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &watching{cluster: c, resource: k.resource.Resource, next: len(c.history)}
	w.ctx, w.end = context.WithCancel(ctx)
	if query.Get("sendInitialEvents") == "true" {
		return w, c.tellAll(w, k)
	}
	if text := query.Get("resourceVersion"); text != "" && text != "0" {
		version, err := strconv.Atoi(text)
		if err != nil || version < 0 || version > len(c.history) {
			w.end()
			return nil, apierrors.NewBadRequest("there is no version " + text)
		}
		w.next = version
	}
	return w, nil
}

// tellAll tells what there is, and a mark that says so. It wants mu held.
func (c *Cluster) tellAll(w *watching, k *kind) error {
	for _, object := range k.sorted() {
		text, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("writing %s: %w", keyOf(object), err)
		}
		if err := w.tell(watch.Added, text); err != nil {
			return err
		}
	}
	mark := metav1.PartialObjectMetadata{TypeMeta: k.meta, ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(len(c.history)),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	text, err := json.Marshal(mark)
	if err != nil {
		return fmt.Errorf("writing the end of what there is: %w", err)
	}
	return w.tell(watch.Bookmark, text)
}

func (w *watching) tell(verb watch.EventType, text []byte) error {
	line, err := json.Marshal(event{verb, text})
	if err != nil {
		return fmt.Errorf("writing a change: %w", err)
	}
	w.unread = append(append(w.unread, line...), '\n')
	return nil
}

// Read waits for the next change.
func (w *watching) Read(into []byte) (int, error) {
	for len(w.unread) == 0 {
		later, err := w.advance()
		if err != nil {
			return 0, err
		}
		if later == nil {
			continue
		}
		select {
		case <-later:
		case <-w.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(into, w.unread)
	w.unread = w.unread[n:]
	return n, nil
}

// advance tells the next change, or returns what is closed when there is one.
func (w *watching) advance() (later <-chan struct{}, err error) {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; w.next < len(c.history); w.next++ {
		if next := c.history[w.next]; next.resource == w.resource {
			w.next++
			return nil, w.tell(next.verb, next.text)
		}
	}
	return c.changed, nil
}

// Close ends the watch.
func (w *watching) Close() error {
	w.end()
	return nil
}
