// Package api answers the requests to the REST API of the cloud.
package api

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"golang.org/x/time/rate"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/auth"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/encode"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/iam"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/requestlog"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
)

// Options are what a server is made of.
type Options struct {
	Seed     seed.Seed
	Switches behaviour.Switches
	Delays   behaviour.Delays
	// Faults disturb calls from the start.
	Faults []fault.Rule
	Logger *slog.Logger
	// Middleware is put in front of the operations, behind what faults do.
	Middleware func(http.Handler) http.Handler
	// Network is where all VPCs must lie, beside each other; the zero prefix means anywhere.
	Network netip.Prefix
	// AfterWrite is called after each write, before it is answered.
	AfterWrite func()
	// BeforeAnswer is called before each request is answered.
	BeforeAnswer func()
}

// Server answers requests to the cloud's API.
type Server struct {
	Store    *state.Store
	Auth     *auth.Authenticator
	Requests requestlog.Log
	// Events are the calls that end, for those who watch.
	Events   event.Hub
	switches behaviour.Switches
	delays   behaviour.Delays
	logger   *slog.Logger
	mux      *http.ServeMux
	encoder  encode.Encoder
	inner    func(http.Handler) http.Handler
	compress func(http.Handler) http.HandlerFunc
	Faults   fault.Set
	metrics  *metrics
	limiter  *rate.Limiter // nil: no limit
	// known are the operations of the API, each a method and a path pattern.
	known []string
	// tags is the seed of ETags.
	tags maphash.Seed

	afterWrite, beforeAnswer func()
}

// unknown is the operation of requests that the emulator does not serve.
const unknown = "unknown"

// New makes a server with the state of a seed.
func New(o Options) (*Server, error) {
	objects, err := state.New(o.Seed, o.Switches, o.Network, time.Now())
	if err != nil {
		return nil, &seed.Error{Err: err}
	}
	credentials, err := auth.New(o.Seed, organisations(objects), o.Delays.TokenLifetime)
	if err != nil {
		return nil, &seed.Error{Err: err}
	}
	srv := &Server{
		Store: objects, Auth: credentials, switches: o.Switches, delays: o.Delays, logger: o.Logger,
		inner: o.Middleware, mux: http.NewServeMux(), limiter: newLimiter(o.Switches.RequestsPerSecond),
		tags: maphash.MakeSeed(), afterWrite: o.AfterWrite, beforeAnswer: o.BeforeAnswer,
	}
	// Answers are for people, too, whose tools may show only what is compressed with gzip.
	if srv.compress, err = gzhttp.NewWrapper(gzhttp.EnableZstd(false)); err != nil {
		return nil, fmt.Errorf("preparing the compression of answers: %w", err)
	}
	srv.Faults.Creates, srv.Faults.Lists, srv.metrics = srv.creates, srv.lists, newMetrics(srv)
	srv.Faults.Met = func(ctx context.Context, kind fault.Kind) { event.Of(ctx).Fault = kind }
	srv.routes()
	now := time.Now()
	srv.ApplyDue(now)
	srv.Snapshot(now)
	for _, rule := range o.Faults {
		if _, err := srv.Inject(rule); err != nil {
			return nil, err
		}
	}
	return srv, nil
}

// ServeHTTP answers a request to the API.
func (srv *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { srv.mux.ServeHTTP(w, r) }

func (srv *Server) routes() {
	srv.mux.Handle("POST /oidc/token", srv.chain("POST /oidc/token", http.HandlerFunc(srv.token)))
	srv.mux.Handle("GET /v1/me/organisation-memberships", srv.chain("GET /v1/me/organisation-memberships", route{
		server: srv, operation: "GET /v1/me/organisation-memberships", handler: srv.listMemberships, personal: true,
	}))
	for operation, h := range srv.operations() {
		srv.mux.Handle(operation, srv.chain(operation, route{server: srv, operation: operation, handler: h}))
	}
	srv.mux.Handle("/", srv.chain(unknown, http.HandlerFunc(srv.unknown)))
}

// operations are those of all resources that belong to an organisation.
func (srv *Server) operations() map[string]handler {
	all := map[string]handler{}
	for _, resource := range []map[string]handler{
		srv.computeOperations(), unbound(srv.projectOperations()), unbound(srv.quotaOperations()),
		srv.imageOperations(), srv.cloudInitOperations(),
		srv.vpcOperations(), srv.subnetOperations(), srv.routeTableOperations(), srv.natGatewayOperations(),
		srv.securityGroupOperations(), srv.reservedIPOperations(), srv.firewallOperations(), srv.peeringOperations(),
		srv.filesystemOperations(), srv.volumeOperations(), srv.snapshotOperations(),
		srv.snapshotPolicyOperations(), unbound(srv.identityOperations()), srv.kubernetesOperations(),
		srv.bucketOperations(),
	} {
		maps.Copy(all, resource)
	}
	return all
}

// OperationNames are the operations of all resources that belong to an organisation, sorted.
func (srv *Server) OperationNames() []string { return slices.Sorted(maps.Keys(srv.operations())) }

// Patterns are the patterns of all operations that are served: a method and a path pattern each.
func (srv *Server) Patterns() []string {
	return slices.DeleteFunc(slices.Clone(srv.known), func(operation string) bool { return operation == unknown })
}

// identityOperations are about the organisation, also in requests for a project.
func (srv *Server) identityOperations() map[string]handler {
	return served(srv, iam.Operations(), func(c *call) *iam.Directory { return &c.org.Owner().Directory })
}

// served are the operations of a kind, on that part of the state which a call is about.
func served[S any](srv *Server, operations map[string]resource.Handler[S], of func(*call) S) map[string]handler {
	all := map[string]handler{}
	for operation, answer := range operations {
		all[operation] = func(c *call) (reply, error) {
			a, err := answer(of(c), &resource.Request{
				Request: c.Request, Now: c.now, Body: c.body, Filter: c.filter, Rules: srv.rules(),
				UniqueNames: srv.switches.UniqueNames,
			})
			return reply{status: a.Status, body: a.Body, identity: a.Identity}, err
		}
	}
	return all
}

func (srv *Server) computeOperations() map[string]handler {
	const (
		lb = "/v1/loadbalancers/{id}"
		tg = "/v1/loadbalancer-target-groups"
	)
	return map[string]handler{
		"GET /v1/regions":                        srv.listRegions,
		"GET /v1/regions/{id}":                   srv.getRegion,
		"GET /v1/machine-types":                  srv.listMachineTypes,
		"GET /v1/machine-types/by-categories":    srv.listMachineTypeCategories,
		"GET /v1/machine-types/{id}":             srv.getMachineType,
		"GET /v1/machines":                       srv.listMachines,
		"POST /v1/machines":                      srv.createMachine,
		"GET /v1/machines/{id}":                  srv.getMachine,
		"PUT /v1/machines/{id}":                  srv.updateMachine,
		"DELETE /v1/machines/{id}":               srv.deleteMachine,
		"POST /v1/machines/{id}/start":           srv.startMachine,
		"POST /v1/machines/{id}/stop":            srv.stopMachine,
		"POST /v1/machines/{id}/restart":         srv.restartMachine,
		"GET /v1/machines/{id}/console":          srv.refuseConsole,
		"GET /v1/loadbalancers":                  srv.listLoadbalancers,
		"POST /v1/loadbalancers":                 srv.createLoadbalancer,
		"GET " + lb:                              srv.getLoadbalancer,
		"PUT " + lb:                              srv.updateLoadbalancer,
		"DELETE " + lb:                           srv.deleteLoadbalancer,
		"GET " + lb + "/listeners":               srv.listListeners,
		"POST " + lb + "/listeners":              srv.createListener,
		"GET " + lb + "/listeners/{listener}":    srv.getListener,
		"PUT " + lb + "/listeners/{listener}":    srv.updateListener,
		"DELETE " + lb + "/listeners/{listener}": srv.deleteListener,
		"GET " + tg:                              srv.listTargetGroups,
		"POST " + tg:                             srv.createTargetGroup,
		"GET " + tg + "/{id}":                    srv.getTargetGroup,
		"PUT " + tg + "/{id}":                    srv.updateTargetGroup,
		"DELETE " + tg + "/{id}":                 srv.deleteTargetGroup,
		"POST " + tg + "/{id}/attachments":       srv.replaceAttachments,
		"POST " + tg + "/{id}/attach":            srv.attach,
		"DELETE " + tg + "/{id}/detach/{target}": srv.detach,
	}
}

// chain wraps an operation of the API with everything that happens around it.
func (srv *Server) chain(operation string, next http.Handler) http.Handler {
	srv.known = append(srv.known, operation)
	next = srv.limited(srv.Faults.Handler(operation, srv.compress(srv.inner(next))))
	return srv.metrics.observe(operation, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		srv.Requests.Count(operation)
		srv.watched(operation, next, w, r)
	}))
}

// watched answers a request and describes it to those who watch.
func (srv *Server) watched(operation string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx, call := srv.Events.Begin(r.Context())
	if call == nil {
		next.ServeHTTP(w, r)
		return
	}
	answer := &observed{ResponseWriter: w}
	next.ServeHTTP(answer, r.WithContext(ctx))
	call.Method, call.Path, call.Operation, call.Status = r.Method, r.URL.Path, operation, answer.status
	srv.Events.End(call)
}

// unknown answers 501 and not 404: a client must not take an operation that the
// emulator lacks for an object that does not exist.
func (srv *Server) unknown(w http.ResponseWriter, r *http.Request) {
	message := fmt.Sprintf("the emulator does not serve %s %s", r.Method, r.URL.Path)
	srv.SendJSON(w, http.StatusNotImplemented, map[string]string{"message": message})
}

// Override changes the store from outside of the API.
func (srv *Server) Override(act func(now time.Time) error) error {
	defer srv.afterWrite()
	srv.Store.Lock()
	defer srv.Store.Unlock()
	now := time.Now()
	srv.ApplyDue(now)
	defer srv.Snapshot(now)
	return act(now)
}

// organisations are the organisations as the authenticator needs them, in the order of the seed.
func organisations(s *state.Store) []*auth.Organisation {
	var out []*auth.Organisation
	for org := range s.Organisations.All() {
		out = append(out, &auth.Organisation{Identity: org.Identity, Slug: org.Slug, CheckProject: org.CheckProject,
			Directory: func(read func(*iam.Directory)) {
				s.Lock()
				defer s.Unlock()
				read(&org.Directory)
			}})
	}
	return out
}

// limited answers 429 to requests beyond Switches.RequestsPerSecond. One second
// later there is room for as many again, which is what Retry-After says.
func (srv *Server) limited(next http.Handler) http.Handler {
	if srv.limiter == nil {
		return next
	}
	refuse := srv.inner(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		srv.SendJSON(w, http.StatusTooManyRequests,
			map[string]string{"message": "too many requests; come back in a second"})
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if srv.limiter.Allow() {
			next.ServeHTTP(w, r)
			return
		}
		refuse.ServeHTTP(w, r)
	})
}

// newLimiter is nil without a limit.
func newLimiter(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}
