package ironcore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
)

// TestSameAnswers sends the same requests to IronCore and to the server in memory with which tests of src/ironcore run,
// and compares the answers, what is stored after each request, and what watches report. The test is the network
// provider of both: it writes the finalizers and the status.
func TestSameAnswers(t *testing.T) {
	plane := controlplanetest.Start(t, nil)
	if err := ironcorelab.Serve(t.Context(), plane, ""); err != nil {
		t.Fatal(err)
	}
	namespace := controlplanetest.NamespaceIn(t, plane)
	const never = 24 * time.Hour
	memory := simulator.New(simulator.Options{Namespace: namespace, Provision: never, Deletion: never})
	c := &comparison{T: t, servers: []*server{newServer(t, "IronCore", plane.Config(), namespace),
		newServer(t, "the server in memory", memory.Config(), namespace)}}
	for _, resource := range compared {
		for _, s := range c.servers {
			s.follow(t, resource)
		}
	}
	c.addClass(c.servers[0])
	for _, one := range requests() {
		c.send(one)
	}
	c.compareEvents()
}

// addClass adds the class of machines to IronCore, whose quota reads it. The server in memory has no classes: the
// program creates no machines.
func (c *comparison) addClass(ironcore *server) {
	c.Helper()
	code, answer, err := ironcore.exchange(c.Context(), request{verb: "create", object: "machineclasses/small",
		body: `{` + computeAPI + `, "kind": "MachineClass", "metadata": {"name": "small"},
"capabilities": {"cpu": "1", "memory": "1Gi"}}`})
	if err != nil || code != http.StatusCreated {
		c.Fatalf("creating a class of machines: %d %s, %v", code, answer, err)
	}
}

// compared are the resources that are compared after each request.
var compared = []string{"networkinterfaces", "loadbalancers", "loadbalancerroutings", "machines"}

// settling bounds the wait until both servers have the same objects: the garbage collector of a control plane looks for
// new kinds every 30 seconds.
const settling = time.Minute

// request is sent to both servers.
type request struct {
	about string // why it is interesting
	// verb is get, list, create, update, apply, merge, json, strategic, other or delete; the last ones but delete are
	// patches. An update merges the body into what is stored.
	verb string
	// object is what it is about, as in "loadbalancers/name/status".
	object, query, body string
	// manager is the field manager; "one" if it is empty.
	manager string
}

func (r request) String() string { return strings.TrimSpace(r.verb + " " + r.object + ": " + r.about) }

// comparison sends requests and reports differences.
type comparison struct {
	*testing.T
	servers []*server
}

// send compares the answers to a request, and then waits until the same is stored.
func (c *comparison) send(r request) {
	c.Helper()
	var answers []string
	for _, s := range c.servers {
		answer, err := s.send(c.Context(), r)
		if err != nil {
			c.Fatalf("%s: %s: %v", r, s.name, err)
		}
		answers = append(answers, answer)
	}
	if diff := cmp.Diff(strings.Split(answers[0], "\n"), strings.Split(answers[1], "\n")); diff != "" {
		c.Errorf("%s: the answers differ (-IronCore +in memory):\n%s", r, diff)
	}
	resource, _, _ := strings.Cut(r.object, "/")
	if r.verb == "get" || r.verb == "list" || !slices.Contains(compared, resource) {
		return
	}
	c.settle(r, resource)
	if resource != "loadbalancerroutings" {
		c.settle(r, "loadbalancerroutings")
	}
}

// settle waits until both servers have the same objects.
func (c *comparison) settle(after request, resource string) {
	c.Helper()
	var diff string
	deadline := time.Now().Add(settling)
	for time.Now().Before(deadline) {
		var all []string
		for _, s := range c.servers {
			list, err := s.send(c.Context(), request{verb: "list", object: resource})
			if err != nil {
				c.Fatalf("after %s: %s: %v", after, s.name, err)
			}
			all = append(all, list)
		}
		if diff = cmp.Diff(strings.Split(all[0], "\n"), strings.Split(all[1], "\n")); diff == "" {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-c.Context().Done():
		}
	}
	c.Fatalf("after %s: what is stored differs (-IronCore +in memory):\n%s", after, diff)
}

// compareEvents compares what watches have reported: several changes of an object one after the other count as one.
func (c *comparison) compareEvents() {
	c.Helper()
	for _, resource := range compared {
		controlplanetest.Eventually(c, settling, "watches of "+resource+" have reported the same",
			func(context.Context) error {
				diff := cmp.Diff(c.servers[0].reported(resource), c.servers[1].reported(resource))
				if diff == "" {
					return nil
				}
				return errors.New(diff)
			})
	}
}

// server is one of those that are compared.
type server struct {
	name, base, namespace string
	client                *http.Client
	events                map[string]*events // by resource
}

func newServer(t *testing.T, name string, config *rest.Config, namespace string) *server {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &server{name: name, base: config.Host, namespace: namespace, client: client, events: map[string]*events{}}
}

// path returns where an object is.
func (s *server) path(object string) string {
	group := "networking"
	switch {
	case strings.HasPrefix(object, "machineclasses"):
		return s.base + "/apis/compute.ironcore.dev/v1alpha1/" + object
	case strings.HasPrefix(object, "machines"):
		group = "compute"
	}
	return s.base + "/apis/" + group + ".ironcore.dev/v1alpha1/namespaces/" + s.namespace + "/" + object
}

// methods are those of verbs, with the type of the body.
var methods = map[string][2]string{
	"get": {http.MethodGet}, "list": {http.MethodGet}, "create": {http.MethodPost, "application/json"},
	"update": {http.MethodPut, "application/json"}, "delete": {http.MethodDelete, "application/json"},
	"apply": {http.MethodPatch, string(types.ApplyYAMLPatchType)}, "merge": {http.MethodPatch,
		string(types.MergePatchType)},
	"json":      {http.MethodPatch, string(types.JSONPatchType)},
	"strategic": {http.MethodPatch, string(types.StrategicMergePatchType)},
	"other":     {http.MethodPatch, "application/other"},
}

// send returns the answer to a request without what differs from one server to the next.
func (s *server) send(ctx context.Context, r request) (string, error) {
	code, body, err := s.exchange(ctx, r)
	if err != nil {
		return "", err
	}
	if !json.Valid(body) { // some answers are plain text
		return fmt.Sprintf("%d\n%s", code, body), nil
	}
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("reading the answer %s: %w", body, err)
	}
	text, err := json.MarshalIndent(plain(answer), "", " ")
	return fmt.Sprintf("%d\n%s", code, text), err
}

func (s *server) exchange(ctx context.Context, r request) (code int, answer []byte, err error) {
	method, object := methods[r.verb], r.object
	body := []byte(strings.ReplaceAll(r.body, "$namespace", s.namespace))
	if r.verb == "update" {
		if body, err = s.merged(ctx, object, body); err != nil {
			return 0, nil, err
		}
	}
	if r.verb == "create" {
		object, _, _ = strings.Cut(object, "/")
	}
	query := r.query
	if r.manager != "none" && r.verb != "get" && r.verb != "list" && r.verb != "delete" {
		manager := r.manager
		if manager == "" {
			manager = "one"
		}
		query = strings.TrimPrefix(query+"&fieldManager="+manager, "&")
	}
	sent, err := http.NewRequestWithContext(ctx, method[0], s.path(object)+"?"+query, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	sent.Header.Set("Accept", "application/json")
	if len(body) > 0 {
		sent.Header.Set("Content-Type", method[1])
	}
	got, err := s.client.Do(sent)
	if err != nil {
		return 0, nil, err
	}
	defer got.Body.Close()
	answer, err = io.ReadAll(got.Body)
	return got.StatusCode, answer, err
}

// merged returns what is stored with a merge patch.
func (s *server) merged(ctx context.Context, object string, patch []byte) ([]byte, error) {
	code, stored, err := s.exchange(ctx, request{verb: "get", object: strings.TrimSuffix(object, "/status")})
	if err != nil || code != http.StatusOK {
		return nil, errors.Join(err, fmt.Errorf("reading %s: %d %s", object, code, stored))
	}
	return jsonpatch.MergePatch(stored, patch)
}

// plain returns an answer without what differs from one server to the next: versions, identities, times and
// texts for people.
func plain(answer map[string]any) any {
	if answer["kind"] == "Status" {
		return plainStatus(answer)
	}
	if items, ok := answer["items"].([]any); ok {
		delete(answer, "metadata")
		for _, item := range items {
			delete(item.(map[string]any), "kind") // lists of some servers repeat them
			delete(item.(map[string]any), "apiVersion")
			plainObject(item.(map[string]any))
		}
		return answer
	}
	plainObject(answer)
	return answer
}

// plainStatus keeps the reasons and the fields of a status.
func plainStatus(answer map[string]any) any {
	details, _ := answer["details"].(map[string]any)
	var causes []string
	list, _ := details["causes"].([]any)
	for _, cause := range list {
		one := cause.(map[string]any)
		causes = append(causes, fmt.Sprint(one["field"], ": ", one["reason"]))
	}
	slices.Sort(causes)
	return map[string]any{"status": answer["status"], "reason": answer["reason"], "code": answer["code"],
		"causes": slices.Compact(causes), "name": details["name"], "kind": details["kind"]}
}

func plainObject(object map[string]any) {
	hide(object, "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "lastStateTransitionTime")
	metadata, _ := object["metadata"].(map[string]any)
	delete(metadata, "generation") // which the program does not read
	entries, _ := metadata["managedFields"].([]any)
	entries = slices.DeleteFunc(entries, func(entry any) bool {
		manager := entry.(map[string]any)["manager"]
		return manager != "one" && manager != "two" && manager != role.RoutingManager
	})
	for _, entry := range entries {
		delete(entry.(map[string]any), "time")
		hideOwners(entry.(map[string]any))
	}
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	metadata["managedFields"] = entries
}

// hideOwners replaces the identities of owners, which are keys of managed fields.
func hideOwners(fields map[string]any) {
	for key, inner := range fields {
		if strings.HasPrefix(key, `k:{"uid":`) {
			delete(fields, key)
			fields["k:some owner"] = inner
		} else if deeper, ok := inner.(map[string]any); ok {
			hideOwners(deeper)
		}
	}
}

// hide replaces the values of fields, wherever they are.
func hide(value any, fields ...string) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, ok := inner.(string); ok && text != "" && slices.Contains(fields, key) {
				v[key] = "some"
				continue
			}
			if key != "managedFields" {
				hide(inner, fields...)
			}
		}
	case []any:
		for _, inner := range v {
			hide(inner, fields...)
		}
	}
}
