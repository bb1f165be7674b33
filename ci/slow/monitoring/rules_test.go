package monitoring

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/spf13/cobra"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
)

// clouds returns the clouds as the program makes them, with what selects each in the chart.
func clouds(t *testing.T) map[string]func() ([]string, *cloud.Cloud) {
	t.Helper()
	return map[string]func() ([]string, *cloud.Cloud){
		"thalassa": func() ([]string, *cloud.Cloud) { return nil, offered(t) },
		"ironcore": func() ([]string, *cloud.Cloud) { return charttest.Iron(), ironOffered(t) },
	}
}

// exported returns the metrics the program has with a cloud, and the labels of each.
func exported(t *testing.T, offered *cloud.Cloud) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	collectors, err := manager.Collectors(offered, build.Current())
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
	made, err := thalassa.New("test")(t.Context(), cloud.Options{ConfigFile: path})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ironOffered returns the second cloud as the program makes it, with an API server that does not exist.
func ironOffered(t *testing.T) *cloud.Cloud {
	t.Helper()
	options := ironcore.NewOptions("test")
	flags := new(cobra.Command).Flags()
	options.AddFlags(flags)
	if err := flags.Parse([]string{"--ironcore-kubeconfig=" + ironKubeconfig(t)}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	writeFile(t, path, "networkName: nodes\nclusterName: production\n")
	made, err := options.New(t.Context(), cloud.Options{ConfigFile: path})
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
func expressions(t *testing.T, sets ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, group := range charttest.CCM.RuleGroups(t, sets...) {
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
	for name, made := range clouds(t) {
		t.Run(name, func(t *testing.T) {
			sets, offered := made()
			known := exported(t, offered)
			// The library makes its series at the first election, with the name of the lease.
			known["leader_election_master_status"] = []string{"name"}
			wantKnown(t, known, expressions(t, sets...))
		})
	}
}

// wantKnown wants every metric and label of the expressions to be known.
func wantKnown(t *testing.T, known map[string][]string, all map[string]string) {
	t.Helper()
	for name, text := range all {
		for _, selector := range knownSelectors(t, known, name, text) {
			for _, pod := range []string{"namespace", "pod", "container"} {
				if !slices.ContainsFunc(selector.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == pod }) {
					t.Errorf("%s: %s of other pods counts, too: no matcher of %s", name, selector.Name, pod)
				}
			}
		}
	}
}

// knownSelectors returns the selectors of an expression, and wants their metrics and labels to be known.
func knownSelectors(t *testing.T, known map[string][]string, name, text string) []*parser.VectorSelector {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	found := selectors(expr)
	for _, selector := range found {
		has, is := known[base(selector.Name)]
		if !is {
			t.Errorf("%s: the program has no metric %s", name, selector.Name)
		}
		for _, matcher := range selector.LabelMatchers {
			if !slices.Contains(has, matcher.Name) && !slices.Contains(added(), matcher.Name) {
				t.Errorf("%s: %s has no label %s, only %q", name, selector.Name, matcher.Name, has)
			}
		}
	}
	return found
}

// TestRulesKeepTheNamespace: without it the alerts of two releases are one for Alertmanager, and it does not show whose
// it is.
func TestRulesKeepTheNamespace(t *testing.T) {
	all := expressions(t)
	maps.Copy(all, expressions(t, charttest.Iron()...))
	for name, text := range all {
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
	page := readCheckout(t, "docs/reference/metrics.md")
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

// TestRatiosOfFailuresAgree: the dashboards, the recorded ratios and the alerts exclude the same answers.
func TestRatiosOfFailuresAgree(t *testing.T) {
	var all []string
	for _, made := range clouds(t) {
		sets, _ := made()
		all = slices.AppendSeq(all, maps.Values(expressions(t, sets...)))
	}
	for _, one := range charttest.Dashboards(t) {
		for _, panel := range one.Panels {
			for _, target := range panel.Targets {
				all = append(all, target.Expr)
			}
		}
	}
	excluded, count := map[string]string{}, 0
	ratio := regexp.MustCompile(`(\w+_api_request_errors){[^/]*?((?:reason|code)![=~]"[^"]*")[^/]*/`)
	for _, text := range all {
		for _, match := range ratio.FindAllStringSubmatch(text, -1) {
			count++
			if other, known := excluded[match[1]]; known && other != match[2] {
				t.Errorf("ratios of %s have %s and %s", match[1], other, match[2])
			}
			excluded[match[1]] = match[2]
		}
	}
	if len(excluded) != 2 || count < 6 {
		t.Errorf("%d ratios of %v, want an alert, a record and a panel for each cloud", count, excluded)
	}
}

// TestRecordedNames wants the metrics everybody asks for to be recorded.
func TestRecordedNames(t *testing.T) {
	for name, made := range clouds(t) {
		sets, _ := made()
		all := strings.Builder{}
		for name, text := range expressions(t, sets...) {
			if strings.Contains(name, ":") {
				all.WriteString(text + "\n")
			}
		}
		for _, want := range []string{"cloudprovider_" + name + "_api_request_duration_seconds",
			"cloudprovider_" + name + "_api_request_errors", "workqueue_adds_total", "workqueue_depth"} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("nothing is recorded of %s", want)
			}
		}
	}
}
