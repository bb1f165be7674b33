package ironcore

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// events are what a watch has reported.
type events struct {
	mu  sync.Mutex
	all []string
}

// follow begins a watch of a resource, which begins with all objects.
func (s *server) follow(t *testing.T, resource string) {
	t.Helper()
	sent, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.path(resource)+
		"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	sent.Header.Set("Accept", "application/json")
	got, err := s.client.Do(sent)
	if err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(got.Body)
		t.Fatalf("watching %s of %s: %d %s", resource, s.name, got.StatusCode, text)
	}
	t.Cleanup(func() { _ = got.Body.Close() })
	seen := &events{}
	s.events[resource] = seen
	go seen.read(json.NewDecoder(got.Body))
}

// read records events until the watch ends.
func (e *events) read(from *json.Decoder) {
	for {
		var event struct {
			Type   string
			Object metav1.PartialObjectMetadata
		}
		if from.Decode(&event) != nil {
			return
		}
		text := event.Type + " " + event.Object.Name
		if event.Type == "BOOKMARK" {
			if event.Object.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
				continue // a server sends them when it likes
			}
			text = "all objects are known"
		}
		e.mu.Lock()
		e.all = append(e.all, text)
		e.mu.Unlock()
	}
}

// reported returns the events of a resource by object, in order, of which repeated ones are one.
func (s *server) reported(resource string) []string {
	seen := s.events[resource]
	seen.mu.Lock()
	defer seen.mu.Unlock()
	return slices.Compact(slices.Clone(seen.all))
}
