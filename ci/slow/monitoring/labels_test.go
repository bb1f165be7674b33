package monitoring

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/legacyregistry"
)

// identify adds what identifies the present objects of the cluster and the cloud.
func (r *running) identify() {
	r.Helper()
	var found []string
	named := func(object metav1.Object) { found = append(found, object.GetName(), string(object.GetUID())) }
	for _, node := range r.cluster.Nodes() {
		named(node)
		found = append(found, node.Spec.ProviderID, node.Spec.PodCIDR)
		for _, address := range node.Status.Addresses {
			found = append(found, address.Address)
		}
	}
	for _, service := range r.cluster.Services() {
		named(service)
		found = append(found, service.Namespace)
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			found = append(found, ingress.IP, ingress.Hostname)
		}
	}
	if r.emulator != nil {
		found = append(found, slices.Collect(maps.Values(r.machines))...)
		for _, balancer := range r.emulator.State().LoadBalancers {
			found = append(found, balancer.Identity, balancer.Name)
			for _, listener := range balancer.Listeners {
				found = append(found, listener.Identity)
			}
		}
		for _, group := range r.emulator.State().TargetGroups {
			found = append(found, group.Identity, group.Name)
		}
	} else {
		for _, balancer := range r.simulator.LoadBalancers() {
			named(balancer)
		}
		for _, nic := range r.simulator.NetworkInterfaces() {
			named(nic)
		}
	}
	for _, one := range found {
		r.known[one] = one != ""
	}
}

// wantNoObjects wants the labels of a series to contain nothing that identifies an object.
func (r *running) wantNoObjects(series string) {
	r.Helper()
	for object, is := range r.known {
		if is && strings.Contains(series, object) {
			r.Errorf("%s contains %s, which identifies an object", series, object)
		}
	}
}

// reference is what the page of metrics says about labels.
type reference struct {
	ofMetrics map[string][]string // those of each of the program's own metrics
	values    map[string]string   // what is said about the values of a label, here and on pages that it refers to
}

// inCode returns what a text has in backticks.
func inCode(text string) (all []string) {
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// readReference reads the page.
func readReference(t *testing.T) reference {
	t.Helper()
	const folder = "docs/reference/"
	r := reference{map[string][]string{}, map[string]string{}}
	tables, explained, _ := strings.Cut(readCheckout(t, folder+"metrics.md"), "\n## Labels\n")
	metric := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| \\w+ \\| ([^|]*) \\|")
	for _, row := range metric.FindAllStringSubmatch(tables, -1) {
		r.ofMetrics[row[1]] = inCode(row[2])
	}
	link := regexp.MustCompile(`\]\(([^)#]+\.md)`)
	label := regexp.MustCompile("(?m)^\\| (`[^|]+) \\| (.+) \\|$")
	for _, row := range label.FindAllStringSubmatch(explained, -1) {
		text := row[2]
		for _, page := range link.FindAllStringSubmatch(row[2], -1) {
			text += readCheckout(t, folder+page[1])
		}
		for _, label := range inCode(row[1]) {
			r.values[label] = text
		}
	}
	return r
}

// openLabels are the forms of values of those labels that the page describes, and does not enumerate.
func openLabels() map[string]*regexp.Regexp {
	word, build := regexp.MustCompile(`^[A-Za-z-]+$`), regexp.MustCompile(`^[\w.+-]+$`)
	return map[string]*regexp.Regexp{
		"request": regexp.MustCompile(`^[A-Z]+ /v1(/([a-z-]+|\{[a-z]+\}))+$`), "resource": word,
		"code": regexp.MustCompile(`^[1-5]\d\d$`), "service": word, "quota": word, "state": word,
		"clusterCIDR": regexp.MustCompile("^" + regexp.QuoteMeta(podNetwork) + "$"),
		"version":     build, "revision": build, "committed": build, "go_version": build,
		"grpc_service": regexp.MustCompile(`^csi\.v1\.\w+$`), "grpc_method": word, "grpc_code": word,
	}
}

// wantDocumented wants the labels of a series of the program's own metrics, and their values, to be on the page.
func (r reference) wantDocumented(t *testing.T, series labels.Labels) {
	t.Helper()
	ofScrape := append(added(), "job", "instance")
	documented, found := r.ofMetrics[base(series.Get(model.MetricNameLabel))]
	if !found {
		t.Errorf("%s is not on the page", series)
	}
	series.Range(func(label labels.Label) {
		form, open := openLabels()[label.Name]
		known := strings.Contains(r.values[label.Name], "`"+label.Value+"`") || open && form.MatchString(label.Value)
		if !slices.Contains(ofScrape, label.Name) && (!known || !slices.Contains(documented, label.Name)) {
			t.Errorf("%s: the page has no label %s with this value", series, label.Name)
		}
	})
}

// TestLabelsAreBounded: after a day with many objects and with failures, no label of a metric contains what identifies
// an object. The labels of the program's own metrics, and their values, are those of the reference page.
func TestLabelsAreBounded(t *testing.T) {
	page, seen := readReference(t), map[string]bool{}
	for _, ironCore := range []bool{false, true} {
		record(t, ironCore, "", func(r *running) {
			r.addServices(20)
			r.day()
			r.beginElsewhere()
			r.pass(20 * time.Minute)
			for _, series := range r.series {
				r.wantNoObjects(series.String())
				if name := base(series.Get(model.MetricNameLabel)); !ofLibraries(name) {
					page.wantDocumented(t, series)
					seen[name] = true
				}
			}
			libraries, err := legacyregistry.DefaultGatherer.Gather()
			r.must(err)
			for _, family := range libraries {
				for _, metric := range family.GetMetric() {
					r.wantNoObjects(fmt.Sprint(metric.GetLabel()))
				}
			}
		})
	}
	for _, series := range recordCSI(t, "thalassa-system", func(r *csiRunning) {
		_, err := r.emulator.Inject(fault.Rule{Operation: "*", Probability: 0.5, Seed: 1,
			Effect: refuse(http.StatusInternalServerError)})
		r.must(err)
	}).series {
		// Prometheus adds "up".
		if name := base(series.Get(model.MetricNameLabel)); !ofLibraries(name) && name != "up" {
			page.wantDocumented(t, series)
			seen[name] = true
		}
		if strings.Contains(series.String(), "pvc-") {
			t.Errorf("%s identifies a volume", series)
		}
	}
	for kind := range inventory.New(nil, inventory.Scope{}).Ages() {
		if !strings.Contains(page.values["kind"], "`"+kind+"`") {
			t.Errorf("the page has no kind %s", kind)
		}
	}
	for name, labels := range page.ofMetrics {
		if len(labels) > 0 && !seen[name] {
			t.Errorf("no series of %s was checked", name)
		}
	}
}
