package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/encode"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// maxBody bounds a request body: enough for a batch of 100,000 attachments.
const maxBody = 16 << 20

// call is a request that passed the guard. Its handler runs with the store
// locked, so it may read and change everything without further ado.
type call struct {
	*http.Request
	org    *organisation
	user   principal
	now    time.Time
	filter filter
	body   []byte
	// machines caches what attachments say about machines.
	machines map[*machine]*wire.Machine
}

// reply is a handler's answer.
type reply struct {
	status int
	// body is encoded as JSON; without body and items there is none.
	body any
	// items are encoded as a JSON array, one after the other, because lists can
	// be larger than what should be in memory twice.
	items iter.Seq[any]
	// identity is the object that a write was about.
	identity string
}

func one(body any) reply { return reply{status: http.StatusOK, body: body} }

func many[T any](items []T) reply {
	return reply{status: http.StatusOK, items: func(yield func(any) bool) {
		for i := range items {
			if !yield(&items[i]) {
				return
			}
		}
	}}
}

func created(identity string, body any) reply {
	return reply{status: http.StatusCreated, body: body, identity: identity}
}

func changed(identity string, body any) reply {
	return reply{status: http.StatusOK, body: body, identity: identity}
}

func done(identity string) reply { return reply{status: http.StatusNoContent, identity: identity} }

// decode reads the body of a call. Unknown fields are ignored.
func decode[T any](c *call) (T, error) {
	var into T
	err := json.Unmarshal(c.body, &into)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		// The part that bodies share has a name of its own in Go only.
		field := strings.TrimPrefix(mismatch.Field, "MetaInput.")
		return into, invalid("field %q must be of type %s, not %s", field, mismatch.Type, mismatch.Value)
	case err != nil:
		return into, invalid("the request body is not valid JSON: %v", err)
	}
	return into, nil
}

// handler answers one operation for one organisation.
type handler func(*call) (reply, error)

// route is an operation of the API.
type route struct {
	emulator *Emulator
	// operation is a method and a path pattern.
	operation string
	handler   handler
	// personal operations belong to the user and need no organisation.
	personal bool
}

func (rt route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer reply
	user, err := rt.emulator.guard.authenticate(r)
	if err == nil {
		answer, err = rt.answer(w, r, user)
	}
	if err != nil {
		answer = rt.emulator.refusal(err)
	} else {
		answer = rt.emulator.switches.fill(answer)
		answer.status = rt.emulator.switches.status(answer.status)
	}
	if writes(r) {
		met, _ := fault.Of(r.Context())
		rt.emulator.ledger.write(Write{
			Time: time.Now(), Operation: rt.operation, Path: r.URL.Path,
			Identity: answer.identity, Subject: user.subject, Status: answer.status, Fault: met.Kind,
		})
		rt.emulator.flush()
	}
	rt.emulator.catchUp()
	if err := rt.emulator.send(w, answer); err != nil {
		rt.emulator.log.Debug("client went away", "operation", rt.operation, "error", err)
	}
}

// refusal is the answer that an error makes.
func (e *Emulator) refusal(err error) reply {
	status := http.StatusInternalServerError
	if refused, ok := errors.AsType[*problem](err); ok {
		status = e.switches.status(refused.status)
	}
	return reply{status: status, body: wire.Error{Message: err.Error()}}
}

func writes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func (rt route) answer(w http.ResponseWriter, r *http.Request, user principal) (answer reply, err error) {
	if err := user.scopes.check(r.Method); err != nil {
		return reply{}, err
	}
	c := &call{Request: r, user: user, filter: parseFilter(r.URL.Query(), rt.emulator.switches.IgnoredFilters)}
	if !rt.personal {
		if c.org, err = user.organisation(r.Header.Get("X-Organisation-Identity")); err != nil {
			return reply{}, err
		}
	}
	if c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		return reply{}, invalid("reading the request body: %v", err)
	}
	if rt.emulator.switches.StrictLabels {
		if err := checkStrictLabels(c.body); err != nil {
			return reply{}, err
		}
	}
	s := rt.emulator.store
	s.mu.Lock()
	defer s.mu.Unlock()
	c.now = time.Now()
	rt.emulator.settle(c.now)
	if writes(r) {
		defer rt.emulator.remember(c.now)
	}
	// The faults that nobody else can carry out.
	met, _ := fault.Of(r.Context())
	if met.Kind == fault.DeleteLag {
		return rt.emulator.deleteLater(c, rt.handler, met.Delay)
	}
	if lag := rt.lag(c, met); lag > 0 {
		rt.emulator.goBack(c, lag)
	}
	return rt.emulator.handle(c, rt.handler)
}

// handle answers a call where its objects live. The store is locked.
func (e *Emulator) handle(c *call, h handler) (answer reply, err error) {
	if c.org == nil {
		return h(c)
	}
	if c.org, err = e.space(c); err != nil {
		return reply{}, err
	}
	c.org.store.now = c.now
	if c.Method == http.MethodGet {
		defer c.org.store.share()()
	}
	return h(c)
}

// flushSize is how much of a list is kept before it is sent.
const flushSize = 1 << 16

// send writes a reply. The status is on its way when an error is returned.
func (e *Emulator) send(w http.ResponseWriter, answer reply) error {
	if answer.body == nil && answer.items == nil {
		w.WriteHeader(answer.status)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	page := e.encoder.Page()
	if answer.items == nil {
		content, err := page.Append(nil, answer.body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return err
		}
		w.WriteHeader(answer.status)
		_, err = w.Write(append(content, '\n'))
		return err
	}
	w.WriteHeader(answer.status)
	return sendItems(w, page, answer.items)
}

func sendItems(w io.Writer, page *encode.Page, items iter.Seq[any]) error {
	pending := []byte{'['}
	first := true
	for item := range items {
		if !first {
			pending = append(pending, ',')
		}
		first = false
		var err error
		if pending, err = page.Append(pending, item); err != nil {
			return err
		}
		if len(pending) < flushSize {
			continue
		}
		if _, err := w.Write(pending); err != nil {
			return fmt.Errorf("writing a list: %w", err)
		}
		pending = pending[:0]
	}
	_, err := w.Write(append(pending, "]\n"...))
	return err
}
