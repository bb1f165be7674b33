package apiserver

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is the body of the answer to a watch. The client pulls the changes out of the history.
type stream struct {
	server   *Server
	kind     *Kind
	selected selection
	first    [][]byte // what the client reads before changes
	position int      // of the next change in the history
	unread   []byte   // the rest of what the client has read a part of
	waking   time.Time
	ended    bool
	stop     []func() bool
}

// watch begins a watch. The server is locked.
func (s *Server) watch(ctx context.Context, c call) (*stream, error) {
	selected, err := c.selection()
	if err != nil {
		return nil, err
	}
	from, err := strconv.ParseInt("0"+c.query.Get("resourceVersion"), 10, 64)
	if err != nil {
		return nil, apierrors.NewBadRequest("resourceVersion: " + err.Error())
	}
	initial := c.query.Get("sendInitialEvents") == "true"
	if initial && s.options.NoWatchList {
		return nil, apierrors.NewInvalid(c.kind.GroupKind(), "", field.ErrorList{
			field.Forbidden(field.NewPath("sendInitialEvents"), "watches do not begin with all objects here")})
	}
	w := &stream{server: s, kind: c.kind, selected: selected, position: s.events.after(from)}
	switch {
	case initial:
		w.listFirst()
		w.first = append(w.first, frame(watch.Bookmark, encode(w.bookmark())))
	case from == 0:
		w.listFirst()
	case from < s.events.oldest[c.kind]:
		w.first, w.ended = [][]byte{frame(watch.Error, encode(expired(from)))}, true
	}
	w.start(ctx, c.query.Get("timeoutSeconds"))
	return w, nil
}

// listFirst lets the watch begin with all objects.
func (w *stream) listFirst() {
	w.position = w.server.events.after(w.server.version)
	for _, o := range w.server.list(w.kind, w.selected.namespace) {
		if w.selected.has(o) {
			w.first = append(w.first, frame(watch.Added, o.encoded))
		}
	}
}

// bookmark is the event that ends the objects with which a watch begins.
func (w *stream) bookmark() Object {
	o := w.kind.New()
	o.SetResourceVersion(strconv.FormatInt(w.server.version, 10))
	o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return o
}

func expired(from int64) metav1.Status {
	status := apierrors.NewResourceExpired("too old resource version: " + strconv.FormatInt(from, 10)).Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	status.Code = http.StatusGone
	return status
}

// frame returns the line of an event with an encoded object.
func frame(event watch.EventType, object []byte) []byte {
	return slices.Concat([]byte(`{"type":"`+string(event)+`","object":`), object, []byte("}\n"))
}

// start lets the watch end with the client's context, and after the time that the client asked for.
func (w *stream) start(ctx context.Context, timeout string) {
	w.server.watches[w] = true
	end := func() { _ = w.Close() }
	w.stop = append(w.stop, context.AfterFunc(ctx, end))
	if seconds, _ := strconv.Atoi(timeout); seconds > 0 {
		w.stop = append(w.stop, time.AfterFunc(time.Duration(seconds)*time.Second, end).Stop)
	}
}

// Read waits for the next change.
func (w *stream) Read(p []byte) (int, error) {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	for len(w.unread) == 0 && !w.next() {
		if w.ended {
			return 0, io.EOF
		}
		w.server.news.Wait()
	}
	n := copy(p, w.unread)
	w.unread = w.unread[n:]
	return n, nil
}

// next takes the next event that the client reads, if there is one yet.
func (w *stream) next() bool {
	if len(w.first) > 0 {
		w.unread, w.first = w.first[0], w.first[1:]
		return true
	}
	for !w.ended {
		c, wait, ok := w.server.events.get(w.position)
		if !ok || wait > 0 {
			w.wakeIn(wait)
			return false
		}
		w.position++
		if w.unread = w.event(c); w.unread != nil {
			return true
		}
	}
	return false
}

// event returns the event for a change; nil if the watch does not have the object.
func (w *stream) event(c change) []byte {
	if c.kind != w.kind {
		return nil
	}
	before, now := w.selected.has(c.old), c.event != watch.Deleted && w.selected.has(c.object)
	switch {
	case !before && now:
		return frame(watch.Added, c.object.encoded)
	case before && now:
		return frame(watch.Modified, c.object.encoded)
	case before:
		return frame(watch.Deleted, c.object.encoded)
	}
	return nil
}

// trim forgets the changes that all watches have reported.
func (s *Server) trim() {
	position := s.events.after(s.version)
	for w := range s.watches {
		position = min(position, w.position)
	}
	s.events.trim(position)
}

// wakeIn lets the reader look again after some time.
func (w *stream) wakeIn(wait time.Duration) {
	if at := time.Now().Add(wait); wait > 0 && !at.Equal(w.waking) {
		w.waking = at
		time.AfterFunc(wait, w.server.news.Broadcast)
	}
}

// Close ends the watch.
func (w *stream) Close() error {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	w.end()
	return nil
}

// end ends the watch. The client does not get what it has not read yet.
func (w *stream) end() {
	for _, stop := range w.stop {
		stop()
	}
	w.ended = true
	delete(w.server.watches, w)
	w.server.news.Broadcast()
}

// InterruptWatches ends all watches. Clients may begin them again where they ended.
func (s *Server) InterruptWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.end()
	}
}

// ExpireWatches ends all watches and forgets all changes: a watch that begins where another one ended is answered with
// 410 Gone, and clients have to list all objects.
func (s *Server) ExpireWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.events.forget(s.options.Kinds, s.version)
	for w := range s.watches {
		w.end()
	}
}

// DelayEvents lets watches report each change only some time after it was made, so that clients have stale objects.
func (s *Server) DelayEvents(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events.delay = delay
	s.news.Broadcast()
}
