package emulator

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/page"
)

// EndEvents ends the streams of GET /_emulator/events. Those that begin later end at once. Call it before a server
// waits for its requests.
func (e *Emulator) EndEvents() { e.api.Events.Close() }

func (e *Emulator) watchRoutes() {
	e.mux.Handle("GET "+page.Root, page.Handler())
	e.mux.Handle("GET "+page.Folder+"{file}", page.Handler())
	e.mux.Handle("GET /_emulator/events", &e.api.Events)
	e.mux.HandleFunc("GET /_emulator/overview", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		e.api.SendJSON(w, http.StatusOK, e.Overview())
	})
	e.mux.HandleFunc("GET /_emulator/loadbalancers/{id}", func(w http.ResponseWriter, r *http.Request) {
		lb, err := e.loadBalancerState(r.PathValue("id"))
		e.report(w, http.StatusOK, lb, err)
	})
}

// protect refuses requests to the admin API with which a page of another web site would change something: the admin
// API needs no credentials, and browsers reach addresses that other machines do not.
func protect(admin http.Handler) http.Handler { return http.NewCrossOriginProtection().Handler(admin) }

// refuseMisled refuses a request of a browser through a name that a web site can have led here, and reports whether it
// did: its pages could read what is answered, and the API accepts credentials that are public.
func refuseMisled(w http.ResponseWriter, r *http.Request) bool {
	if !misled(r) || !browses(r) {
		return false
	}
	http.Error(w, "a web site could have led its name "+r.Host+" here, so a browser may not use the emulator at it: "+
		"use an IP address, localhost or a name without a dot", http.StatusForbidden)
	return true
}

// browses reports whether a request may be a browser's. To a plain HTTP address, browsers send Sec-Fetch-Site never,
// and Origin only with some requests, but Accept-Language always, and no page can leave it out.
func browses(r *http.Request) bool {
	return slices.ContainsFunc([]string{"Origin", "Sec-Fetch-Site", "Accept-Language"}, func(header string) bool {
		return len(r.Header.Values(header)) > 0
	})
}

// misled reports whether a request came through a name that a web site can have led here: its pages could then read the
// answer. Names without a dot, like those of services of Docker Compose, are no web site's. Requests that came through
// no connection are the program's own.
func misled(r *http.Request) bool {
	host, named := hostname(r)
	return named && strings.Contains(host, ".") && r.Context().Value(http.LocalAddrContextKey) != nil
}

// hostname is the host that a request was sent to, and whether it is a name and not below localhost.
func hostname(r *http.Request) (host string, named bool) {
	host = r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host, err != nil && !strings.HasSuffix(host, ".localhost")
}

// loadBalancerState summarises one load balancer, named by identity or slug.
func (e *Emulator) loadBalancerState(ref string) (LoadBalancerState, error) {
	e.api.Store.Lock()
	defer e.api.Store.Unlock()
	now := time.Now()
	e.api.ApplyDue(now)
	for org := range e.api.Store.Spaces() {
		if lb, found := org.Loadbalancers.Find(ref); found {
			return e.summarise(lb, now), nil
		}
	}
	return LoadBalancerState{}, apierror.NotFound("load balancer", ref)
}
