package charttest

import (
	"regexp"
	"slices"
	"testing"
)

// knownMetrics returns the metrics of the reference page, of Kubernetes' libraries, of Prometheus and of
// kube-state-metrics that the charts use, each with its labels.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{
		"leader_election_master_status": {"name"}, "rest_client_requests_total": {"code"},
		"workqueue_adds_total": {"name"}, "workqueue_depth": {"name"}, "workqueue_queue_duration_seconds": {"name"},
		"up": nil, "kube_daemonset_status_desired_number_scheduled": {"daemonset"},
		"kube_daemonset_status_number_ready": {"daemonset"},
	}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| \\w+ \\| ([^|]*) \\|")
	for _, match := range row.FindAllStringSubmatch(readCheckout(t, "docs/reference/metrics.md"), -1) {
		known[match[1]] = regexp.MustCompile(`\w+`).FindAllString(match[2], -1)
	}
	return known
}

// queries returns what rules and dashboards compute, by what they are for.
func queries(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	groups := slices.Concat(CCM.RuleGroups(t), CCM.RuleGroups(t, Iron()...), CSI.RuleGroups(t))
	for _, group := range groups {
		for _, rule := range group.Rules {
			found[rule.Alert+rule.Record] += rule.Expr.String() + "\n"
		}
	}
	for _, one := range Dashboards(t) {
		for _, panel := range one.Panels {
			for _, target := range panel.Targets {
				found[panel.Title] += target.Expr + "\n"
			}
		}
	}
	return found
}

// TestMetricsExist: rules and dashboards select series of metrics that exist, by labels that these have. Every selector
// has labels in braces. ci/slow/monitoring reads the expressions as Prometheus does, and has Prometheus evaluate them.
func TestMetricsExist(t *testing.T) {
	known, count := knownMetrics(t), 0
	selector, label := regexp.MustCompile(`([\w:]+)\{([^{}]*)\}`), regexp.MustCompile(`(\w+) *(?:=|!=|=~|!~) *"`)
	added := []string{"namespace", "pod", "container", "job", "instance", "le"} // by Prometheus, or of histograms
	for name, text := range queries(t) {
		for _, match := range selector.FindAllStringSubmatch(text, -1) {
			count++
			metric := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(match[1], "")
			labels, found := known[metric]
			if !found {
				t.Errorf("%s: there is no metric %s", name, match[1])
				continue
			}
			for _, one := range label.FindAllStringSubmatch(match[2], -1) {
				if !slices.Contains(labels, one[1]) && !slices.Contains(added, one[1]) {
					t.Errorf("%s: %s has no label %s", name, match[1], one[1])
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d selectors", count)
	}
}
