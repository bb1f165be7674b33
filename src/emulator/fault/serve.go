package fault

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxBuffered bounds what is read of a request's body ahead of time.
const maxBuffered = 16 << 20

type (
	key    struct{} // of the Effect that a call meets
	chosen struct{} // of the hit that With chose
)

// With makes the calls of a context meet an effect, whatever the rules of a Set
// say, if their kind of call can meet it. The seed is for what is random about
// Partial; an effect without a kind is none, and nothing is met. It reaches
// handlers in the same process only.
func With(ctx context.Context, effect Effect, seed uint64) context.Context {
	return context.WithValue(ctx, chosen{}, hit{Effect: effect, seed: seed})
}

// meet finds what a call meets: what its context says, or else the rules.
func (s *Set) meet(operation string, r *http.Request) (waits []hit, fault *hit) {
	met, forced := r.Context().Value(chosen{}).(hit)
	switch {
	case !forced:
		return s.decide(operation, r)
	case met.Kind == "" || !s.applies(met.Kind, operation, r):
		return nil, nil
	case met.Kind == Latency:
		return []hit{met}, nil
	}
	return nil, &met
}

// Of is the fault that a handler's call meets, if any. Handlers carry out Stale
// and DeleteLag themselves; of the others they need not know.
func Of(ctx context.Context) (effect Effect, met bool) {
	effect, met = ctx.Value(key{}).(Effect)
	return effect, met
}

// Handler puts the faults in front of the handler of an operation, which is a
// method and a path pattern such as "GET /v1/machines/{id}". It needs writers
// that can drop connections: those of HTTP/1 servers, or a Dropper.
func (s *Set) Handler(operation string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		waits, fault := s.meet(operation, r)
		s.report(r.Context(), waits, fault)
		if len(waits) > 0 || fault != nil && fault.Kind == Hang {
			r = readAhead(r)
		}
		for _, latency := range waits {
			if err := latency.wait(r.Context()); err != nil {
				abandon(w, err)
				return
			}
		}
		switch {
		case fault != nil:
			fault.disturb(w, within(r, fault.Effect), next)
		case len(waits) > 0:
			next.ServeHTTP(w, within(r, waits[0].Effect))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// report passes on what a call meets: of several faults the one that is more than a delay.
func (s *Set) report(ctx context.Context, waits []hit, fault *hit) {
	switch {
	case s.Met == nil:
	case fault != nil:
		s.Met(ctx, fault.Kind)
	case len(waits) > 0:
		s.Met(ctx, waits[0].Kind)
	}
}

func within(r *http.Request, effect Effect) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), key{}, effect))
}

// readAhead reads the body of a request that has to wait: a server notices that
// its client left only once it has the whole request.
func readAhead(r *http.Request) *http.Request {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBuffered))
	var rest io.Reader = r.Body
	if err != nil {
		rest = failing{err}
	}
	copied := r.WithContext(r.Context())
	copied.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), r.Body}
	return copied
}

type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// wait lets time pass, until the rule is cleared. It fails when the client leaves.
func (h *hit) wait(ctx context.Context) error {
	timer := time.NewTimer(h.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.cleared:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// disturb answers a call that meets a fault other than Latency.
func (h *hit) disturb(w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch h.Kind {
	case Hang:
		h.hang(w, r)
	case Refuse, Unauthorised, Forbidden, Quota:
		h.refuse(w)
	case Reset:
		reset(w)
	case NotJSON:
		reply(w, cmp.Or(h.Status, http.StatusOK), "text/html; charset=utf-8", []byte(page))
	case Drop:
		next.ServeHTTP(&recording{header: http.Header{}, discard: true}, r)
		abandon(w, lost())
	case Truncate, Malformed, Empty, NoContent, Partial:
		answer := &recording{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(answer, whole(r))
		answer.header.Del("ETag") // of another body
		h.spoil(w, answer)
	default:
		next.ServeHTTP(w, r)
	}
}

// whole is a request whose answer has a body that is not compressed: a fault changes the JSON in it.
func whole(r *http.Request) *http.Request {
	plain := r.Clone(r.Context())
	plain.Header.Del("Accept-Encoding")
	plain.Header.Del("If-None-Match")
	return plain
}

func (h *hit) hang(w http.ResponseWriter, r *http.Request) {
	select {
	case <-h.cleared:
		abandon(w, lost())
	case <-r.Context().Done():
		abandon(w, context.Cause(r.Context()))
	}
}

func (h *hit) refuse(w http.ResponseWriter) {
	status, message := h.Status, h.Message
	if status == 0 {
		if t, err := h.Kind.trait(); err == nil {
			status = t.refusal
		}
	}
	switch {
	case message == "" && h.Kind == Quota:
		message = "quota exceeded: no more objects of this kind can be created"
	case message == "":
		message = "injected fault: " + http.StatusText(status)
	}
	if h.RetryAfter > 0 {
		seconds := (h.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	refuse(w, status, message)
}

func refuse(w http.ResponseWriter, status int, message string) {
	body, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		body = []byte("{}")
	}
	reply(w, status, jsonType, append(body, '\n'))
}
