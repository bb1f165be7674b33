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
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/api"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/page"
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
	// Middleware, if set, is put in front of the API, behind what faults do, and in front of the admin API. Tests check
	// with it what is sent and answered.
	Middleware func(http.Handler) http.Handler
	// Logger gets what an operator should know; nil discards it.
	Logger *slog.Logger
}

// Emulator is a running cloud.
type Emulator struct {
	api *api.Server
	mux routes
	// admin is mux for requests to the admin API.
	admin http.Handler
	log   *slog.Logger

	plane DataPlane
	// planeMu orders the calls of the data plane; what follows is guarded by it.
	planeMu sync.Mutex
	timers  map[string]alarm
	closed  bool
	// occupied are the addresses that were passed to the data plane, by load balancer.
	occupied map[string][]netip.Addr
	// problem is what is wrong with the data plane's network.
	problem atomic.Pointer[string]
}

// New starts a cloud with the state of a seed.
func New(cfg Config) (*Emulator, error) {
	if err := cfg.Switches.Validate(); err != nil {
		return nil, err
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if cfg.Middleware == nil {
		cfg.Middleware = func(next http.Handler) http.Handler { return next }
	}
	e := &Emulator{
		log:   cfg.Logger,
		plane: cfg.DataPlane, timers: map[string]alarm{}, occupied: map[string][]netip.Addr{},
	}
	options := api.Options{
		Seed: cfg.Seed, Switches: cfg.Switches, Delays: cfg.Delays, Faults: cfg.Faults, Logger: cfg.Logger,
		Middleware: cfg.Middleware, AfterWrite: e.flush, BeforeAnswer: e.sync,
	}
	if cfg.DataPlane != nil {
		options.Network = cfg.DataPlane.Network()
	}
	var err error
	if e.api, err = api.New(options); err != nil {
		return nil, err
	}
	e.mux.Handle("/", e.api)
	e.admin = cfg.Middleware(protect(&e.mux))
	e.mux.Handle("GET /openapi.json", cfg.Middleware(description()))
	e.adminRoutes()
	e.credentialRoutes()
	e.quotaRoutes()
	if err := e.wire(time.Now()); err != nil {
		e.stopTimer(nextChange)
		return nil, err
	}
	if cfg.DataPlane != nil && e.api.Store.Changed() {
		e.flush()
	}
	return e, nil
}

// ServeHTTP answers a request to the API or the admin API.
func (e *Emulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refuseMisled(w, r) {
		return
	}
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
	if r.URL.Path == page.Root || strings.HasPrefix(r.URL.Path, page.Root+"/") {
		e.admin.ServeHTTP(w, r)
		return
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

// routes is a multiplexer that has a list of its patterns.
type routes struct {
	http.ServeMux
	patterns []string
}

// Handle registers a handler.
func (m *routes) Handle(pattern string, handler http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, handler)
}

// HandleFunc registers a function.
func (m *routes) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(handler))
}

// description answers with the OpenAPI document.
func description() http.Handler {
	read := sync.OnceValues(openapi.JSON)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		content, err := read()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(content)
	})
}
