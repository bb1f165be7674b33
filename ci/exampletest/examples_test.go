package exampletest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
)

// folder has the examples.
const folder = "examples/services"

// without are annotations that need no example, and why.
func without() map[string]string {
	return map[string]string{"internal": "an older way to say type: internal"}
}

// example is a file of the folder.
type example struct {
	name, text string
	service    *corev1.Service
}

// examples are all of them.
func examples(t *testing.T) []example {
	t.Helper()
	files, err := filepath.Glob(checkout.Path(t, folder) + "/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("files %v, error %v", files, err)
	}
	var all []example
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := charttest.Decode(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		service, ok := objects[0].(*corev1.Service)
		if !ok || len(objects) != 1 {
			t.Fatalf("%s: %d objects, want one Service", file, len(objects))
		}
		all = append(all, example{strings.TrimSuffix(filepath.Base(file), ".yaml"), string(text), service})
	}
	return all
}

// TestExamplesSayWhatTheyDo: each has the name of its file, and two or three lines about it; the table has all of them
// and no more.
func TestExamplesSayWhatTheyDo(t *testing.T) {
	page, err := os.ReadFile(checkout.Path(t, folder+"/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed, names []string
	for _, match := range regexp.MustCompile(
		`(?m)^\| \[([a-z-]+)\.yaml\]\(([a-z-]+)\.yaml\) \| [^|]+ \| [^|]+ \|$`).FindAllStringSubmatch(string(page),
		-1) {
		if listed = append(listed, match[1]); match[1] != match[2] {
			t.Errorf("%s leads to %s", match[1], match[2])
		}
	}
	for _, e := range examples(t) {
		names = append(names, e.name)
		if e.service.Name != e.name {
			t.Errorf("%s.yaml has the Service %s", e.name, e.service.Name)
		}
		comment, _, _ := strings.Cut(e.text, "apiVersion:")
		if lines := strings.Count(comment, "\n# ") + 1; !strings.HasPrefix(comment, "# ") || lines < 2 || lines > 3 {
			t.Errorf("%s.yaml begins with %d lines of comment, want two or three", e.name, lines)
		}
	}
	slices.Sort(listed)
	slices.Sort(names)
	if !slices.Equal(listed, names) {
		t.Errorf("the table has %v, the folder %v", listed, names)
	}
}

// TestEveryAnnotationHasAnExample, with nothing that is not an annotation.
func TestEveryAnnotationHasAnExample(t *testing.T) {
	registry, shown := thalassa.Annotations(), map[string]bool{}
	for _, e := range examples(t) {
		for name := range e.service.Annotations {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, registry.Prefix()), ".")
			shown[name] = true
		}
	}
	for _, entry := range registry.Entries() {
		found := shown[entry.Name]
		if entry.IsFamily() {
			for name := range shown {
				found = found || annotation.IsFamily(entry.Name) && strings.HasPrefix(name, entry.Name)
			}
		}
		if why, excused := without()[entry.Name]; found == excused {
			t.Errorf("%s: an example %t, and it needs none %t (%s)", entry.Name, found, excused, why)
		}
	}
}

// annotationAdopt is the annotation by which a Service names the load balancer that it adopts.
func annotationAdopt() string { return thalassa.Annotations().Prefix() + "adopt" }

// adoptedBy is the identity of the load balancer that a Service adopts; "" for none.
func adoptedBy(service *corev1.Service) string { return service.Annotations[annotationAdopt()] }

// adoptable makes the load balancer that an example wants to adopt, permits it as its comment says, and has the example
// name it.
func adoptable(t *testing.T, c *cloud, service *corev1.Service) {
	t.Helper()
	if adoptedBy(service) == "" {
		return
	}
	var made struct{ Identity string }
	c.call(t, http.MethodPost, "/v1/loadbalancers",
		fmt.Sprintf(`{"name": "theirs", "subnet": "emulator", "annotations": {"k8s.thalassa.cloud/adoptable-by": %q}}`,
			strings.Join([]string{clusterName, service.Namespace, service.Name}, "/")), &made)
	service.Annotations[annotationAdopt()] = made.Identity
}

// TestExamplesGetTheirLoadBalancer: the API server takes each of them, and the provider gives it an address, without a
// warning.
func TestExamplesGetTheirLoadBalancer(t *testing.T) {
	in := newCluster(t)
	for _, e := range examples(t) {
		t.Run(e.name, func(t *testing.T) {
			stored := in.store(t, e.service)
			cloud := newCloud(t)
			adoptable(t, cloud, stored)
			if e.name == "dual-stack" { // which the cluster of the test is not
				stored.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
			}
			status := cloud.serve(t, stored)
			if len(status.Ingress) == 0 || status.Ingress[0].IP+status.Ingress[0].Hostname == "" {
				t.Errorf("status %+v, want an address or a host name", status)
			}
			if warned := cloud.warnings(); len(warned) > 0 {
				t.Errorf("warnings %q", warned)
			}
			verify, special := assertions()[e.name]
			if !special {
				return
			}
			if got := verify(t, cloud, served{in, stored, status}); got != "" {
				t.Error(got)
			}
		})
	}
}
