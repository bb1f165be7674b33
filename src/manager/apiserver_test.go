package manager

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/thalassa-cloud/thalassa-ccm/src/apiserver"
)

// apiServer is an API server that a process reaches through the network. It also answers access reviews and gives
// tokens.
type apiServer struct {
	*apiserver.Server
	front *httptest.Server
	inner http.Handler // passes requests on to the server
	away  atomic.Bool  // connections are cut

	mu   sync.Mutex
	deny map[string]bool // resources, or resource/name, that are forbidden
	// changed is called after each change, with the server locked.
	changed func(apiserver.Object)
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{deny: map[string]bool{}, changed: func(apiserver.Object) {}}
	kind := func(version schema.GroupVersion, name string, object apiserver.Object) *apiserver.Kind {
		return &apiserver.Kind{GroupVersionKind: version.WithKind(name), Resource: strings.ToLower(name) + "s",
			Object: object, HasStatus: true, Cluster: name == "Node", ValidName: apivalidation.NameIsDNSSubdomain}
	}
	s.Server = apiserver.New(apiserver.Options{
		Kinds: []*apiserver.Kind{
			kind(corev1.SchemeGroupVersion, "Node", &corev1.Node{}),
			kind(corev1.SchemeGroupVersion, "Service", &corev1.Service{}),
			kind(corev1.SchemeGroupVersion, "ConfigMap", &corev1.ConfigMap{}),
			kind(corev1.SchemeGroupVersion, "Event", &corev1.Event{}),
			kind(corev1.SchemeGroupVersion, "ServiceAccount", &corev1.ServiceAccount{}),
			kind(discoveryv1.SchemeGroupVersion, "EndpointSlice", &discoveryv1.EndpointSlice{}),
			kind(coordinationv1.SchemeGroupVersion, "Lease", &coordinationv1.Lease{}),
		},
		React: func(_ apiserver.State, _ apiwatch.EventType, object, _ apiserver.Object) { s.changed(object) },
	})
	s.Fail(s.denied)
	s.inner = &httputil.ReverseProxy{Transport: s.Transport(), FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "cluster.test"}) }}
	s.front = httptest.NewServer(s)
	t.Cleanup(func() {
		s.front.CloseClientConnections()
		s.front.Close()
	})
	return s
}

// kubeconfig returns the path of a file that leads to the server.
func (s *apiServer) kubeconfig(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: s.front.URL}
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
	s.front.CloseClientConnections()
}

func (s *apiServer) comeBack() { s.away.Store(false) }

// forbid makes the server refuse a resource, or one object as resource/name, or ends that.
func (s *apiServer) forbid(resource string, forbidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deny[resource] = forbidden
}

func (s *apiServer) denied(r apiserver.Request) *metav1.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deny[r.Resource] && !s.deny[r.Resource+"/"+r.Name] {
		return nil
	}
	status := apierrors.NewForbidden(schema.GroupResource{Resource: r.Resource}, r.Name, nil).Status()
	return &status
}

// put creates an object, in place of the one with its name.
func (s *apiServer) put(o apiserver.Object) {
	s.Do(func(objects apiserver.State) {
		objects.Remove(o)
		objects.Add(o)
	})
}

// namesOf returns the names of all objects of a type.
func namesOf[T apiserver.Object](s *apiServer) (names []string) {
	s.Do(func(objects apiserver.State) {
		for _, o := range apiserver.List[T](objects, "") {
			names = append(names, o.GetName())
		}
	})
	return names
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	switch _, last, _ := strings.Cut(r.URL.Path, "/v1/"); {
	case last == "tokenreviews", last == "subjectaccessreviews":
		review(w, r)
	case strings.HasSuffix(last, "/token"):
		reply(w, authenticationv1.TokenRequest{
			TypeMeta: metav1.TypeMeta{Kind: "TokenRequest", APIVersion: "authentication.k8s.io/v1"},
			Spec:     authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
			Status: authenticationv1.TokenRequestStatus{Token: "token",
				ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))},
		})
	default:
		s.inner.ServeHTTP(w, r)
	}
}

// review accepts the token "reader" and no other.
func review(w http.ResponseWriter, r *http.Request) {
	var o map[string]any
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	spec, _ := o["spec"].(map[string]any)
	o["status"] = map[string]any{
		"authenticated": spec["token"] == "reader", "user": map[string]any{"username": "reader"},
		"allowed": spec["user"] == "reader",
	}
	reply(w, o)
}

func reply(w http.ResponseWriter, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(o) // the client may be gone
}
