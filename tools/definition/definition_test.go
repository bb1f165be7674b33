package definition

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// two are two definitions, as far as this package reads them.
const two = "# A comment.\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\n---\n" +
	"kind: CustomResourceDefinition\nmetadata: {name: b.example.com}\n"

// server is an API server that has one definition, and serves each only when it is read for the second time.
type server struct {
	mu      sync.Mutex
	created []string
	read    map[string]int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	object := map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
	_, name, _ := strings.Cut(r.URL.Path, "/customresourcedefinitions/")
	if r.Method == http.MethodGet {
		s.read[name]++
		state := map[bool]string{false: "False", true: "True"}[s.read[name] > 1]
		object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": state}}}
		_ = json.NewEncoder(w).Encode(object)
		return
	}
	var sent struct{ Metadata struct{ Name string } }
	_ = json.NewDecoder(r.Body).Decode(&sent)
	s.created = append(s.created, sent.Metadata.Name)
	switch sent.Metadata.Name {
	case "a.example.com":
		object = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "AlreadyExists",
			"code": http.StatusConflict}
		w.WriteHeader(http.StatusConflict)
	case "forbidden.example.com":
		w.WriteHeader(http.StatusForbidden)
	}
	_ = json.NewEncoder(w).Encode(object)
}

// TestInstall: each definition is created, unless it exists, and then read until it is served.
func TestInstall(t *testing.T) {
	s := &server{read: map[string]int{}}
	at := httptest.NewServer(s)
	defer at.Close()
	if err := Install(t.Context(), &rest.Config{Host: at.URL}, []byte(two)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.example.com", "b.example.com"}; !slices.Equal(s.created, want) {
		t.Errorf("it creates %v, want %v", s.created, want)
	}
	for _, name := range s.created {
		if s.read[name] != 2 {
			t.Errorf("it reads %s %d times, want twice: until it is served", name, s.read[name])
		}
	}
}

func TestInstallErrors(t *testing.T) {
	at := httptest.NewServer(&server{})
	defer at.Close()
	for stream, want := range map[string]string{
		"kind: [": "decoding definitions: ",
		"kind: CustomResourceDefinition\nmetadata: {name: forbidden.example.com}\n": "adding the definition " +
			"forbidden.example.com: ",
	} {
		err := Install(t.Context(), &rest.Config{Host: at.URL}, []byte(stream))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want an error that begins with %q", err, want)
		}
	}
}
