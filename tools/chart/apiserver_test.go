package chart

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// apiServer speaks as much of the Kubernetes API as Helm needs for ConfigMaps
// and for the Secrets that hold its releases. It keeps what it is given, under
// the path it was given at, and checks nothing.
type apiServer struct {
	mutex   sync.Mutex
	objects map[string]*unstructured.Unstructured
}

func startAPIServer(t *testing.T) (*apiServer, *rest.Config) {
	t.Helper()
	a := &apiServer{objects: map[string]*unstructured.Unstructured{}}
	server := httptest.NewServer(a.handler())
	t.Cleanup(server.Close)
	return a, &rest.Config{
		Host: server.URL,
		// Clients would else send protobuf.
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
	}
}

func (a *apiServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", answer(version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.3"}))
	mux.HandleFunc("GET /api", answer(metav1.APIVersions{Versions: []string{"v1"}}))
	mux.HandleFunc("GET /apis", answer(metav1.APIGroupList{}))
	mux.HandleFunc("GET /api/v1", answer(metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", SingularName: "configmap", Kind: "ConfigMap", Namespaced: true},
		{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true},
	}}))
	mux.HandleFunc("GET /openapi/v3", answer(map[string]any{
		"paths": map[string]any{"api/v1": map[string]any{"serverRelativeURL": "/openapi/v3/api/v1"}},
	}))
	mux.HandleFunc("GET /openapi/v3/api/v1", answer(json.RawMessage(validatesFields)))
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/{resource}", a.list)
	mux.HandleFunc("POST /api/v1/namespaces/{namespace}/{resource}", a.create)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/{resource}/{name}", a.get)
	mux.HandleFunc("PUT /api/v1/namespaces/{namespace}/{resource}/{name}", a.create)
	mux.HandleFunc("PATCH /api/v1/namespaces/{namespace}/{resource}/{name}", a.patch)
	mux.HandleFunc("DELETE /api/v1/namespaces/{namespace}/{resource}/{name}", a.remove)
	return mux
}

// validatesFields is the OpenAPI document of a server that refuses unknown fields
// itself, which keeps Helm from asking for all of its schemas.
const validatesFields = `{
	"openapi": "3.0.0", "info": {"title": "test", "version": "v1"},
	"paths": {"/api/v1/namespaces/{namespace}/configmaps/{name}": {"patch": {
		"parameters": [{"name": "fieldValidation", "in": "query"}],
		"responses": {},
		"x-kubernetes-group-version-kind": {"group": "", "version": "v1", "kind": "ConfigMap"}
	}}}
}`

// paths lists what is stored, sorted.
func (a *apiServer) paths() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.Sorted(maps.Keys(a.objects))
}

func (a *apiServer) object(path string) *unstructured.Unstructured {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.objects[path]
}

func (a *apiServer) list(w http.ResponseWriter, r *http.Request) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	list := map[string]any{"apiVersion": "v1", "kind": "SecretList"}
	items := []map[string]any{}
	for _, stored := range a.paths() {
		object := a.object(stored)
		if strings.HasPrefix(stored, r.URL.Path+"/") && selector.Matches(labels.Set(object.GetLabels())) {
			items = append(items, object.Object)
		}
	}
	list["items"] = items
	write(w, http.StatusOK, list)
}

func (a *apiServer) create(w http.ResponseWriter, r *http.Request) {
	object := new(unstructured.Unstructured)
	if err := json.NewDecoder(r.Body).Decode(&object.Object); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.objects[path.Join("/api/v1/namespaces", r.PathValue("namespace"), r.PathValue("resource"), object.GetName())] =
		object
	w.Header().Set("Warning", `299 - "stored without a check"`)
	write(w, http.StatusCreated, object.Object)
}

func (a *apiServer) get(w http.ResponseWriter, r *http.Request) {
	if object := a.object(r.URL.Path); object != nil {
		write(w, http.StatusOK, object.Object)
		return
	}
	notFound(w)
}

// patch knows the strategic merge of ConfigMaps, which is all that Helm sends here.
func (a *apiServer) patch(w http.ResponseWriter, r *http.Request) {
	object := a.object(r.URL.Path)
	if object == nil {
		notFound(w)
		return
	}
	changes := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&changes); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	changed, err := strategicpatch.StrategicMergeMapPatch(object.Object, changes, &corev1.ConfigMap{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.objects[r.URL.Path] = &unstructured.Unstructured{Object: changed}
	write(w, http.StatusOK, changed)
}

func (a *apiServer) remove(w http.ResponseWriter, r *http.Request) {
	object := a.object(r.URL.Path)
	if object == nil {
		notFound(w)
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.objects, r.URL.Path)
	write(w, http.StatusOK, object.Object)
}

func answer(body any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, body) }
}

func notFound(w http.ResponseWriter) {
	write(w, http.StatusNotFound, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		Message: "not found",
	})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that went away is its own problem.
	_ = json.NewEncoder(w).Encode(body)
}
