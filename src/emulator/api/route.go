package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/auth"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/encode"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/requestlog"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// MaxBody bounds a request body: enough for a batch of 100,000 attachments.
const MaxBody = 16 << 20

// call is a request that the authenticator accepted. Its handler runs with the store
// locked, so it may read and change everything without further ado.
type call struct {
	*http.Request
	org    *state.Organisation
	user   auth.Principal
	now    time.Time
	filter object.Filter
	body   []byte
	// machines caches what attachments say about machines.
	machines map[*state.Machine]*wire.Machine
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
		return into, apierror.Invalid("field %q must be of type %s, not %s", field, mismatch.Type, mismatch.Value)
	case err != nil:
		return into, apierror.Invalid("the request body is not valid JSON: %v", err)
	}
	return into, nil
}

// handler answers one operation for one organisation.
type handler func(*call) (reply, error)

// route is an operation of the API.
type route struct {
	server *Server
	// operation is a method and a path pattern.
	operation string
	handler   handler
	// personal operations belong to the user and need no organisation.
	personal bool
}

func (rt route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer reply
	user, err := rt.server.Auth.Authenticate(r)
	event.Of(r.Context()).Subject = user.Subject
	if err == nil {
		answer, err = rt.answer(w, r, user)
	}
	if err != nil {
		answer = rt.server.refusal(err)
	} else {
		answer = fillBody(rt.server.switches, answer)
		answer.status = rt.server.switches.Status(answer.status)
	}
	if writes(r) {
		met, _ := fault.Of(r.Context())
		rt.server.Requests.Write(requestlog.Write{
			Time: time.Now(), Operation: rt.operation, Path: r.URL.Path,
			Identity: answer.identity, Subject: user.Subject, Status: answer.status, Fault: met.Kind,
		})
		rt.server.afterWrite()
	}
	rt.server.beforeAnswer()
	if err := rt.server.send(w, rt.server.tagged(w, r, answer)); err != nil {
		rt.server.logger.Debug("client went away", "operation", rt.operation, "error", err)
	}
}

// token is POST /oidc/token.
func (srv *Server) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	status, body := srv.Auth.Grant(r)
	srv.Events.Changed()
	srv.SendJSON(w, status, body)
}

// SendJSON answers a request with a status and a body.
func (srv *Server) SendJSON(w http.ResponseWriter, status int, body any) {
	if err := srv.send(w, reply{status: status, body: body}); err != nil {
		srv.logger.Debug("client went away", "error", err)
	}
}

// refusal is the answer that an error makes.
func (srv *Server) refusal(err error) reply {
	status := http.StatusInternalServerError
	if refused, ok := errors.AsType[*apierror.Error](err); ok {
		status = srv.switches.Status(refused.Status)
	}
	return reply{status: status, body: wire.Error{Message: err.Error()}}
}

func writes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func (rt route) answer(w http.ResponseWriter, r *http.Request, user auth.Principal) (answer reply, err error) {
	if err := user.Scopes.Check(r.Method); err != nil {
		return reply{}, err
	}
	c := &call{Request: r, user: user, filter: object.ParseFilter(r.URL.Query(), rt.server.switches.IgnoredFilters)}
	var home string
	if !rt.personal {
		if home, err = user.Organisation(r.Header.Get("X-Organisation-Identity")); err != nil {
			return reply{}, err
		}
	}
	if c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody)); err != nil {
		return reply{}, apierror.Invalid("reading the request body: %v", err)
	}
	if rt.server.switches.StrictLabels {
		if err := object.CheckStrictBody(c.body); err != nil {
			return reply{}, err
		}
	}
	s := rt.server.Store
	s.Lock()
	defer s.Unlock()
	c.now = time.Now()
	c.org, _ = s.Organisations.Exact(home)
	rt.server.ApplyDue(c.now)
	if writes(r) {
		defer rt.server.Snapshot(c.now)
	}
	// The faults that only the API itself can carry out.
	met, _ := fault.Of(r.Context())
	if met.Kind == fault.DeleteLag {
		return rt.server.deleteLater(c, rt.handler, met.Delay)
	}
	if lag := rt.lag(c, met); lag > 0 {
		rt.server.asOf(c, lag)
	}
	return rt.server.handle(c, rt.handler)
}

// handle answers a call where its objects live. The store is locked.
func (srv *Server) handle(c *call, h handler) (answer reply, err error) {
	if c.org == nil {
		return h(c)
	}
	if c.org, err = srv.space(c); err != nil {
		return reply{}, err
	}
	c.org.Store.Now = c.now
	if c.Method == http.MethodGet {
		defer c.org.Store.ShareViews()()
	}
	return h(c)
}

// tagged is an answer to a request whose header has the answer's ETag: without a body, if the request names that. The
// ETag is made of the body, which is encoded for it once more, because a list is sent while it is encoded.
func (srv *Server) tagged(w http.ResponseWriter, r *http.Request, answer reply) reply {
	if !srv.switches.ConditionalRequests || r.Method != http.MethodGet || answer.status != http.StatusOK {
		return answer
	}
	var body digest
	body.SetSeed(srv.tags)
	if err := srv.send(&body, answer); err != nil {
		return answer // and the error is the answer
	}
	tag := fmt.Sprintf(`"%016x"`, body.Sum64())
	w.Header().Set("ETag", "W/"+tag) // weak: an answer that is compressed has the same
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		return reply{status: http.StatusNotModified}
	}
	return answer
}

// digest is an answer of which only a hash of the body is kept.
type digest struct{ maphash.Hash }

// Header implements http.ResponseWriter.
func (*digest) Header() http.Header { return http.Header{} }

// WriteHeader implements http.ResponseWriter.
func (*digest) WriteHeader(int) {}

// flushSize is how much of a list is kept before it is sent.
const flushSize = 1 << 16

// send writes a reply. The status is on its way when an error is returned.
func (srv *Server) send(w http.ResponseWriter, answer reply) error {
	if answer.body == nil && answer.items == nil {
		w.WriteHeader(answer.status)
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	page := srv.encoder.Page()
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

// outcome is what the body of such an answer says.
type outcome struct {
	Identity string `json:"identity"`
	Message  string `json:"message"`
}

// fillBody gives an answer without content the body that the switch selects.
func fillBody(s behaviour.Switches, answer reply) reply {
	if answer.status != http.StatusNoContent {
		return answer
	}
	done := outcome{Identity: answer.identity, Message: "done"}
	switch s.DoneBody {
	case behaviour.NullBody:
		answer.body = (*outcome)(nil)
	case behaviour.ObjectBody:
		answer.body = done
	case behaviour.ListBody:
		answer.body = []outcome{done}
	case behaviour.NoBody:
	}
	return answer
}
