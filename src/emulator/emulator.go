// Package emulator is Thalassa Cloud in a box: it serves the cloud's REST API so
// that clients, controllers and pipelines can be tested without the cloud.
//
//	cloud, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
//	...
//	defer cloud.Close()
//	server := httptest.NewServer(cloud)
//
// An Emulator is an http.Handler for the API and, under /_emulator/, for its own
// admin API. Without a data plane it has no goroutines and takes the time from
// the time package only, so it works inside testing/synctest bubbles.
//
// What no public source says about the real API is a choice in Switches.
package emulator

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/encode"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
)

// Config is what an emulator is made of. The zero value of everything but Seed
// is useful.
type Config struct {
	// Seed is the state to start with: DefaultSeed(), or LoopbackSeed() with the
	// loopback data plane.
	Seed     seed.Seed
	Switches Switches
	Delays   Delays
	// DataPlane moves the packets of load balancers; nil moves none. Close
	// closes it; when New fails, it stays open.
	DataPlane DataPlane
	// Faults disturb calls from the start.
	Faults []fault.Rule
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
}

// Emulator is a running cloud.
type Emulator struct {
	store    *store
	guard    *guard
	ledger   ledger
	switches Switches
	delays   Delays
	log      *slog.Logger
	mux      *http.ServeMux
	encoder  encode.Encoder
	faults   fault.Set
	metrics  *metrics
	limiter  *rate.Limiter // nil: no limit
	// known are the operations of the API, each a method and a path pattern.
	known []string

	plane DataPlane
	// planeMu orders what the data plane is told; what follows is guarded by it.
	planeMu sync.Mutex
	timers  map[string]alarm
	closed  bool
	// occupied are the addresses that the data plane was told, by load balancer.
	occupied map[string][]netip.Addr
	// problem is what is wrong with the data plane's network.
	problem atomic.Pointer[string]
}

// New starts a cloud with the state of a seed.
func New(cfg Config) (*Emulator, error) {
	if err := cfg.Switches.validate(); err != nil {
		return nil, err
	}
	if err := checkPlane(cfg.DataPlane, cfg.Seed); err != nil {
		return nil, err
	}
	state, err := newStore(cfg.Seed, time.Now())
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	guard, err := newGuard(cfg.Seed, state, cfg.Delays.TokenLifetime)
	if err != nil {
		return nil, err
	}
	e := &Emulator{
		store: state, guard: guard,
		switches: cfg.Switches, delays: cfg.Delays, log: cfg.Logger,
		limiter: newLimiter(cfg.Switches.RequestsPerSecond), plane: cfg.DataPlane, timers: map[string]alarm{}, occupied: map[string][]netip.Addr{}, mux: http.NewServeMux(),
	}
	e.faults.Creates, e.faults.Lists, e.metrics = e.creates, e.lists, newMetrics(e)
	e.routes()
	e.adminRoutes()
	e.credentialRoutes()
	e.quotaRoutes()
	e.remember(time.Now())
	for _, rule := range cfg.Faults {
		if _, err := e.Inject(rule); err != nil {
			return nil, err
		}
	}
	if err := e.wire(time.Now()); err != nil {
		return nil, err
	}
	return e, nil
}

// ServeHTTP answers a request to the API or the admin API.
func (e *Emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The request may be a client's own, see Transport: only a copy is changed.
	r = r.WithContext(r.Context())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if path := canonical(r.URL.Path); path != r.URL.Path {
		// Answered in place: a redirect would make clients turn POST into GET.
		url := *r.URL
		url.Path, url.RawPath = path, ""
		r.URL = &url
	}
	e.mux.ServeHTTP(w, r)
}

// canonical collapses slashes, drops a trailing one, and maps the alias
// /api/v1 to /v1.
func canonical(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(parts) > 1 && parts[0] == "api" && parts[1] == "v1" {
		parts = parts[1:]
	}
	return "/" + strings.Join(parts, "/")
}

func (e *Emulator) routes() {
	e.mux.Handle("POST /oidc/token", e.chain("POST /oidc/token", http.HandlerFunc(e.token)))
	e.mux.Handle("GET /v1/me/organisation-memberships", e.chain("GET /v1/me/organisation-memberships", route{
		emulator: e, operation: "GET /v1/me/organisation-memberships", handler: e.listMemberships, personal: true,
	}))
	for operation, h := range e.operations() {
		e.mux.Handle(operation, e.chain(operation, route{emulator: e, operation: operation, handler: h}))
	}
	e.mux.Handle("/", e.chain("unknown", http.HandlerFunc(e.unknown)))
}

// operations are those of all resources that belong to an organisation.
func (e *Emulator) operations() map[string]handler {
	all := map[string]handler{}
	for _, resource := range []map[string]handler{
		e.computeOperations(), e.projectOperations(), e.quotaOperations(), e.imageOperations(), e.cloudInitOperations(),
		e.vpcOperations(), e.subnetOperations(), e.routeTableOperations(), e.natGatewayOperations(),
		e.securityGroupOperations(), e.reservedIPOperations(), e.firewallOperations(), e.peeringOperations(), e.filesystemOperations(),
	} {
		maps.Copy(all, resource)
	}
	return all
}

func (e *Emulator) computeOperations() map[string]handler {
	const (
		lb = "/v1/loadbalancers/{id}"
		tg = "/v1/loadbalancer-target-groups"
	)
	return map[string]handler{
		"GET /v1/regions":                        e.listRegions,
		"GET /v1/regions/{id}":                   e.getRegion,
		"GET /v1/machine-types":                  e.listMachineTypes,
		"GET /v1/machine-types/by-categories":    e.listMachineTypeCategories,
		"GET /v1/machine-types/{id}":             e.getMachineType,
		"GET /v1/machines":                       e.listMachines,
		"POST /v1/machines":                      e.createMachine,
		"GET /v1/machines/{id}":                  e.getMachine,
		"PUT /v1/machines/{id}":                  e.updateMachine,
		"DELETE /v1/machines/{id}":               e.deleteMachine,
		"POST /v1/machines/{id}/start":           e.startMachine,
		"POST /v1/machines/{id}/stop":            e.stopMachine,
		"POST /v1/machines/{id}/restart":         e.restartMachine,
		"GET /v1/loadbalancers":                  e.listLoadbalancers,
		"POST /v1/loadbalancers":                 e.createLoadbalancer,
		"GET " + lb:                              e.getLoadbalancer,
		"PUT " + lb:                              e.updateLoadbalancer,
		"DELETE " + lb:                           e.deleteLoadbalancer,
		"GET " + lb + "/listeners":               e.listListeners,
		"POST " + lb + "/listeners":              e.createListener,
		"GET " + lb + "/listeners/{listener}":    e.getListener,
		"PUT " + lb + "/listeners/{listener}":    e.updateListener,
		"DELETE " + lb + "/listeners/{listener}": e.deleteListener,
		"GET " + tg:                              e.listTargetGroups,
		"POST " + tg:                             e.createTargetGroup,
		"GET " + tg + "/{id}":                    e.getTargetGroup,
		"PUT " + tg + "/{id}":                    e.updateTargetGroup,
		"DELETE " + tg + "/{id}":                 e.deleteTargetGroup,
		"POST " + tg + "/{id}/attachments":       e.replaceAttachments,
		"POST " + tg + "/{id}/attach":            e.attach,
		"DELETE " + tg + "/{id}/detach/{target}": e.detach,
	}
}

// chain wraps an operation of the API with everything that happens around it.
func (e *Emulator) chain(operation string, next http.Handler) http.Handler {
	e.known = append(e.known, operation)
	next = e.limited(e.faults.Handler(operation, next))
	return e.metrics.observe(operation, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.ledger.count(operation)
		next.ServeHTTP(w, r)
	}))
}

// unknown answers 501 and not 404: a client must not take an operation that the
// emulator lacks for an object that does not exist.
func (e *Emulator) unknown(w http.ResponseWriter, r *http.Request) {
	refused := &problem{http.StatusNotImplemented, fmt.Sprintf("the emulator does not serve %s %s", r.Method, r.URL.Path)}
	e.sendJSON(w, refused.status, map[string]string{"message": refused.message})
}
