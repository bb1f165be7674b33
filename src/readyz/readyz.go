// Package readyz serves /livez and /readyz over HTTP, in the form of the Kubernetes API server, for kubelets and for
// people. The checks are those of its callers: for the cloud controller manager see newProcess in src/manager.
//
// Unlike the API server's own handler, it reports why a check failed, and accepts further checks while it serves.
package readyz

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/component-base/metrics/prometheus/slis"
)

// Checks is the handler of one endpoint. It serves
//
//	/livez                  200 "ok", or 500 and the result of every check
//	/livez?verbose          the result of every check
//	/livez?exclude=cloud    without the check "cloud"
//	/livez/cloud            one check
//
// The text of a failed check is shown to whoever may read the endpoint: it must
// not hold secrets. Every result is counted in the metrics kubernetes_healthcheck
// and kubernetes_healthchecks_total, which are served at /metrics/slis.
type Checks struct {
	name string

	mu     sync.RWMutex
	checks []healthz.HealthChecker
}

// New returns the handler of the endpoint /<name> with its first checks. An
// endpoint without checks is always ok.
func New(name string, checks ...healthz.HealthChecker) *Checks {
	return &Checks{name: name, checks: checks}
}

// Add adds checks; it may be called while the endpoint is served.
func (c *Checks) Add(checks ...healthz.HealthChecker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks = append(c.checks, checks...)
}

// Install serves the endpoint and its single checks.
func (c *Checks) Install(paths *mux.PathRecorderMux) {
	paths.Handle("/"+c.name, c)
	paths.HandlePrefix("/"+c.name+"/", c)
}

// ServeHTTP answers for all checks, or for the one the path names.
func (c *Checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	checks := c.snapshot()
	if name, single := strings.CutPrefix(r.URL.Path, "/"+c.name+"/"); single && name != "" {
		checks = slices.DeleteFunc(checks, func(check healthz.HealthChecker) bool { return check.Name() != name })
		if len(checks) == 0 {
			http.NotFound(w, r)
			return
		}
	}
	report, failed := c.run(r, checks)
	c.answer(w, r, report, failed)
}

func (c *Checks) snapshot() []healthz.HealthChecker {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.checks)
}

// run returns one line per check, and whether any failed.
func (c *Checks) run(r *http.Request, checks []healthz.HealthChecker) (report string, failed bool) {
	excluded := r.URL.Query()["exclude"]
	var lines strings.Builder
	for _, check := range checks {
		if slices.Contains(excluded, check.Name()) {
			fmt.Fprintf(&lines, "[+]%s excluded: ok\n", check.Name())
			continue
		}
		if err := check.Check(r); err != nil {
			failed = true
			c.count(r, check, slis.Error)
			fmt.Fprintf(&lines, "[-]%s failed: %v\n", check.Name(), err)
			continue
		}
		c.count(r, check, slis.Success)
		fmt.Fprintf(&lines, "[+]%s ok\n", check.Name())
	}
	return lines.String(), failed
}

// count cannot fail in a way that matters to the probe.
func (c *Checks) count(r *http.Request, check healthz.HealthChecker, status slis.HealthcheckStatus) {
	_ = slis.ObserveHealthcheck(r.Context(), check.Name(), c.name, status)
}

func (c *Checks) answer(w http.ResponseWriter, r *http.Request, report string, failed bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "%s%s check failed\n", report, c.name)
	case verbose:
		fmt.Fprintf(w, "%s%s check passed\n", report, c.name)
	default:
		fmt.Fprint(w, "ok")
	}
}
