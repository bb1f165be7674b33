package manager

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// object is any Kubernetes object.
type object = map[string]any

// apiServer is as much of a Kubernetes API server as the process talks to: it
// stores objects, lists and watches them, and answers access reviews.
type apiServer struct {
	*httptest.Server
	away atomic.Bool // connections are cut

	mu       sync.Mutex
	revision int
	objects  map[address]object
	watchers map[*watcher]struct{}
	deny     map[string]bool // resources, or resource/name, that are forbidden
	changed  func(method string, at address, o object)
	requests map[string]int // by method and resource
}

// address is where an object is.
type address struct{ resource, namespace, name string }

type watcher struct {
	at     address
	events chan object
}

// kinds maps resources to the kind of their objects.
func kinds(resource string) (apiVersion, kind string) {
	switch resource {
	case "nodes":
		return "v1", "Node"
	case "endpointslices":
		return "discovery.k8s.io/v1", "EndpointSlice"
	case "services":
		return "v1", "Service"
	case "configmaps":
		return "v1", "ConfigMap"
	case "events":
		return "v1", "Event"
	case "serviceaccounts":
		return "v1", "ServiceAccount"
	case "leases":
		return "coordination.k8s.io/v1", "Lease"
	}
	return "v1", "Unknown"
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{
		objects:  map[address]object{},
		watchers: map[*watcher]struct{}{},
		deny:     map[string]bool{},
		requests: map[string]int{},
		changed:  func(string, address, object) {},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// kubeconfig returns the path of a file that leads to the server.
func (s *apiServer) kubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: s.URL}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := t.TempDir() + "/kubeconfig"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// goAway cuts all connections, those that watch included; comeBack ends that.
func (s *apiServer) goAway() {
	s.away.Store(true)
	s.CloseClientConnections()
}

func (s *apiServer) comeBack() { s.away.Store(false) }

// forbid makes the server refuse a resource, or one object as resource/name.
func (s *apiServer) forbid(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deny[resource] = true
}

// allow ends forbid.
func (s *apiServer) allow(resource string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deny[resource] = false
}

// put stores an object and sends it to the watches.
func (s *apiServer) put(at address, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(at, o)
}

// get returns an object, or nil.
func (s *apiServer) get(at address) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[at]
}

// count returns how often a resource was asked for, as in "GET nodes".
func (s *apiServer) count(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[request]
}

func (s *apiServer) store(at address, o object) object {
	s.revision++
	apiVersion, kind := kinds(at.resource)
	meta, _ := o["metadata"].(object)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = object{}
	}
	meta["name"], meta["resourceVersion"] = at.name, strconv.Itoa(s.revision)
	if at.namespace != "" {
		meta["namespace"] = at.namespace
	}
	meta["uid"] = cmp.Or(fmt.Sprint(meta["uid"]), at.name)
	stored := maps.Clone(o)
	stored["apiVersion"], stored["kind"], stored["metadata"] = apiVersion, kind, meta
	change := "MODIFIED"
	if s.objects[at] == nil {
		change = "ADDED"
	}
	s.objects[at] = stored
	for w := range s.watchers {
		if w.at.covers(at) {
			w.events <- object{"type": change, "object": stored}
		}
	}
	return stored
}

// covers reports whether a list at this address has the object at another.
func (a address) covers(o address) bool {
	return a.resource == o.resource &&
		(a.namespace == "" || a.namespace == o.namespace) &&
		(a.name == "" || a.name == o.name)
}

// parse reads /api/v1/... and /apis/<group>/<version>/...
func parse(path string) (at address, subresource string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2
	if parts[0] == "apis" {
		skip = 3
	}
	parts = parts[min(skip, len(parts)):]
	if len(parts) > 1 && parts[0] == "namespaces" {
		at.namespace = parts[1]
		parts = parts[2:]
	}
	parts = append(parts, "", "", "")
	at.resource, at.name, subresource = parts[0], parts[1], parts[2]
	return at, subresource
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	at, subresource := parse(r.URL.Path)
	s.mu.Lock()
	s.requests[r.Method+" "+at.resource]++
	denied := s.deny[at.resource] || s.deny[at.resource+"/"+at.name]
	s.mu.Unlock()
	switch {
	case denied:
		fail(w, http.StatusForbidden, "Forbidden", at.resource+" is forbidden")
	case at.resource == "tokenreviews" || at.resource == "subjectaccessreviews":
		review(w, r)
	case subresource == "token":
		reply(w, http.StatusCreated, object{"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
			"spec":   object{"expirationSeconds": 3600},
			"status": object{"token": "of-" + at.name, "expirationTimestamp": "2999-01-01T00:00:00Z"}})
	case r.Method == http.MethodGet && at.name == "" && r.URL.Query().Get("watch") != "":
		s.watch(w, r, at)
	case r.Method == http.MethodGet:
		s.read(w, r, at)
	default:
		s.write(w, r, at)
	}
}

// review accepts the token "reader" and no other.
func review(w http.ResponseWriter, r *http.Request) {
	var o object
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	spec, _ := o["spec"].(object)
	reader := spec["token"] == "reader"
	o["status"] = object{
		"authenticated": reader, "user": object{"username": "reader"},
		"allowed": spec["user"] == "reader",
	}
	reply(w, http.StatusCreated, o)
}

func (s *apiServer) read(w http.ResponseWriter, r *http.Request, at address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.name != "" {
		if o := s.objects[at]; o != nil {
			reply(w, http.StatusOK, o)
			return
		}
		fail(w, http.StatusNotFound, "NotFound", at.name+" not found")
		return
	}
	apiVersion, kind := kinds(at.resource)
	reply(w, http.StatusOK, object{"apiVersion": apiVersion, "kind": kind + "List",
		"metadata": object{"resourceVersion": strconv.Itoa(s.revision)}, "items": s.list(selected(r, at))})
}

// selected narrows a list down to the one name of a field selector.
func selected(r *http.Request, at address) address {
	at.name, _ = strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	return at
}

func (s *apiServer) list(at address) []object {
	items := []object{}
	for stored, o := range s.objects {
		if at.covers(stored) {
			items = append(items, o)
		}
	}
	return items
}

// write stores what is posted, put or patched; patches are merged one level
// deep, which is as deep as the tests look.
func (s *apiServer) write(w http.ResponseWriter, r *http.Request, at address) {
	var o object
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	meta, _ := o["metadata"].(object)
	if r.Method == http.MethodPost {
		at.name, _ = meta["name"].(string)
	}
	current := s.objects[at]
	if version := meta["resourceVersion"]; r.Method == http.MethodPut && current != nil &&
		version != nil && version != current["metadata"].(object)["resourceVersion"] {
		fail(w, http.StatusConflict, "Conflict", at.name+" was changed")
		return
	}
	if r.Method == http.MethodPatch {
		o = merged(current, o)
	}
	stored := s.store(at, o)
	s.changed(r.Method, at, stored)
	reply(w, map[bool]int{true: http.StatusCreated, false: http.StatusOK}[r.Method == http.MethodPost], stored)
}

func merged(current, patch object) object {
	result := maps.Clone(current)
	for key, value := range patch {
		old, isOld := result[key].(object)
		changes, isNew := value.(object)
		if isOld && isNew {
			old = maps.Clone(old)
			maps.Copy(old, changes)
			result[key] = old
			continue
		}
		result[key] = value
	}
	return result
}

// watch streams changes, after the present objects if they are asked for.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, at address) {
	at = selected(r, at)
	watching := &watcher{at: at, events: make(chan object, 1000)}
	s.mu.Lock()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, o := range s.list(at) {
			watching.events <- object{"type": "ADDED", "object": o}
		}
		watching.events <- s.bookmark(at)
	}
	s.watchers[watching] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, watching)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case event := <-watching.events:
			_ = json.NewEncoder(w).Encode(event) // the client may be gone
		}
	}
}

func (s *apiServer) bookmark(at address) object {
	apiVersion, kind := kinds(at.resource)
	return object{"type": "BOOKMARK", "object": object{"apiVersion": apiVersion, "kind": kind,
		"metadata": object{
			"resourceVersion": strconv.Itoa(s.revision),
			"annotations":     object{"k8s.io/initial-events-end": "true"},
		}}}
}

func reply(w http.ResponseWriter, status int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o) // the client may be gone
}

func fail(w http.ResponseWriter, status int, reason, message string) {
	reply(w, status, object{"apiVersion": "v1", "kind": "Status", "status": "Failure",
		"reason": reason, "message": message, "code": status})
}

// names returns the names of all objects of a resource.
func (s *apiServer) names(resource string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for at := range s.objects {
		if at.resource == resource {
			names = append(names, at.name)
		}
	}
	slices.Sort(names)
	return names
}
