package charttest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
)

// exported returns the metrics the program has, and the labels of each.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	collectors, err := manager.Collectors(offered(t), build.Current())
	if err != nil {
		t.Fatal(err)
	}
	descriptions := make(chan *prometheus.Desc, 100)
	for _, collector := range collectors {
		collector.Describe(descriptions)
	}
	close(descriptions)
	form := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for description := range descriptions {
		parts := form.FindStringSubmatch(description.String())
		if parts == nil {
			t.Fatalf("cannot read the description %s", description)
		}
		found[parts[1]] = strings.Split(parts[2], ",")
	}
	useLibraries(t)
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, pair := range family.GetMetric()[0].GetLabel() {
			found[family.GetName()] = append(found[family.GetName()], pair.GetName())
		}
	}
	return found
}

// offered returns the cloud as the program makes it, with credentials that are never checked.
func offered(t *testing.T) *cloud.Cloud {
	t.Helper()
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "personalAccessToken"), "token")
	path := filepath.Join(folder, "config.yaml")
	writeFile(t, path, "organisation: a\nvpcIdentity: vpc-1\ncluster: k8s-1\nclusterCIDR: 10.244.0.0/16\nroutes: "+
		"{enabled: true}\ncloudCredentials: {directory: "+folder+"}\n")
	made, err := thalassa.New("test", func(string) string { return "" })(t.Context(), cloud.Options{ConfigFile: path})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// useLibraries has the libraries of Kubernetes count something: before they do, their metrics do not show.
func useLibraries(t *testing.T) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "rules"})
	queue.Add("something")
	queue.ShutDown()
	metrics.RequestResult.Increment(context.Background(), "200", "GET", "localhost")
	if _, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{}); err == nil {
		t.Fatal("a leader election without anything is accepted")
	}
}

// expressions returns what the rules compute, by name of alert or record.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, group := range ruleGroups(t) {
		for _, rule := range group.Rules {
			if found[rule.Alert+rule.Record] != "" {
				t.Errorf("%s%s is there twice", rule.Alert, rule.Record)
			}
			found[rule.Alert+rule.Record] = rule.Expr.String()
		}
	}
	return found
}

// added are the labels that Prometheus adds to every metric it reads from a pod.
func added() []string { return []string{"__name__", "namespace", "pod", "container", "le"} }

// base is the metric of a series: histograms have three for one.
func base(name string) string {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// TestRulesAreAboutWhatExists parses every expression as Prometheus does, and wants every metric and label in it to be
// the program's.
func TestRulesAreAboutWhatExists(t *testing.T) {
	known := exported(t)
	// The library makes its series at the first election, with the name of the lease.
	known["leader_election_master_status"] = []string{"name"}
	for name, text := range expressions(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, selector := range selectors(expr) {
			has, found := known[base(selector.Name)]
			if !found {
				t.Errorf("%s: the program has no metric %s", name, selector.Name)
			}
			for _, matcher := range selector.LabelMatchers {
				if !slices.Contains(has, matcher.Name) && !slices.Contains(added(), matcher.Name) {
					t.Errorf("%s: %s has no label %s, only %q", name, selector.Name, matcher.Name, has)
				}
			}
			for _, pod := range []string{"namespace", "pod", "container"} {
				if !slices.ContainsFunc(selector.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == pod }) {
					t.Errorf("%s: %s of other pods counts, too: no matcher of %s", name, selector.Name, pod)
				}
			}
		}
	}
}

// TestRulesKeepTheNamespace: without it the alerts of two releases are one for Alertmanager, and it does not show whose
// it is.
func TestRulesKeepTheNamespace(t *testing.T) {
	for name, text := range expressions(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if sum, is := node.(*parser.AggregateExpr); is &&
				(sum.Without || !slices.Contains(sum.Grouping, "namespace")) {
				t.Errorf("%s: %s drops the namespace", name, sum)
			}
			return nil
		})
	}
}

// selectors returns every selector in an expression.
func selectors(expr parser.Expr) []*parser.VectorSelector {
	var found []*parser.VectorSelector
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			found = append(found, selector)
		}
		return nil
	})
	return found
}

// TestReasonsOfErrorsExist compares the reasons in the rules with those on the reference page.
func TestReasonsOfErrorsExist(t *testing.T) {
	page := readFile(t, "../../docs/reference/metrics.md")
	count := 0
	for name, text := range expressions(t) {
		for _, match := range regexp.MustCompile(`reason!?="([a-z_]+)"`).FindAllStringSubmatch(text, -1) {
			count++
			if !strings.Contains(page, "`"+match[1]+"`") {
				t.Errorf("%s: no request fails for the reason %s", name, match[1])
			}
		}
	}
	if count == 0 {
		t.Error("no reason was checked")
	}
}

// TestRecordedNames wants the metrics everybody asks for to be recorded.
func TestRecordedNames(t *testing.T) {
	all := strings.Builder{}
	for name, text := range expressions(t) {
		if strings.Contains(name, ":") {
			all.WriteString(text + "\n")
		}
	}
	for _, want := range []string{"cloudprovider_thalassa_api_request_duration_seconds",
		"cloudprovider_thalassa_api_request_errors", "workqueue_adds_total", "workqueue_depth"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("nothing is recorded of %s", want)
		}
	}
}

// TestAlertsSayWhatToDo wants a heading in the guide for every alert, and an alert for every heading.
func TestAlertsSayWhatToDo(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^## (Thalassa\w+)$`).FindAllStringSubmatch(string(page), -1) {
		headings[match[1]] = true
	}
	for _, group := range ruleGroups(t) {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				continue
			}
			if !headings[rule.Alert] {
				t.Errorf("docs/guides/alerts.md does not say what to do about %s", rule.Alert)
			}
			delete(headings, rule.Alert)
			want := "https://github.com/thalassa-cloud/thalassa-ccm/blob/main/docs/guides/alerts.md#" +
				strings.ToLower(rule.Alert)
			if rule.Annotations["runbook_url"] != want || rule.Annotations["summary"] == "" ||
				rule.Labels["severity"] == "" || rule.For == nil {
				t.Errorf("%s lacks something: %+v", rule.Alert, rule)
			}
		}
	}
	for heading := range headings {
		t.Errorf("docs/guides/alerts.md is about %s, an alert that is not there", heading)
	}
}
