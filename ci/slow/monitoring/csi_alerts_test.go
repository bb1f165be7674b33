package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
)

// How selectors of pods of the release begin.
const (
	csiPod = `{namespace="thalassa-system", container="thalassa-csi-driver", ` +
		`pod="thalassa-csi-controller-6d5f7c9b84-x7k2p"`
	csiHost = `{namespace="thalassa-system", container="thalassa-csi-driver", pod="thalassa-csi-node-x7k2p"`
	csiSet  = `{namespace="thalassa-system", daemonset="thalassa-csi-node"`
)

// csiSeries is a metric over time.
func csiSeries(metric, pod, more, samples string) string {
	return "  " + metric + pod + more + "} " + samples + "\n"
}

func csiScenes() []scene {
	const down, missing, calls = "ThalassaCSIControllerDown", "ThalassaCSINodePluginMissing", "ThalassaCSICallsFailing"
	up := func(samples string) string { return csiSeries("up", csiPod, "", samples) }
	counted := func(by, desired, ready string) string {
		return csiSeries("kube_daemonset_status_desired_number_scheduled", csiSet, `, instance="`+by+`"`, desired) +
			csiSeries("kube_daemonset_status_number_ready", csiSet, `, instance="`+by+`"`, ready)
	}
	nodes := func(ready string) string { return counted("a", "3x120", ready) }
	handled := func(pod, code, samples string) string {
		return csiSeries("grpc_server_handled_total", pod, `, grpc_method="A", grpc_code="`+code+`"`, samples)
	}
	return []scene{
		{down, "it runs", up("1x120"), time.Hour, false, nil},
		{down, "it does not answer", up("1x10 0x110"), time.Hour, true, nil},
		{down, "it vanished", up("1x10 stale"), time.Hour, true, nil},
		{down, "it does not answer, and then vanishes", up("1x10 0x6 stale"), 11 * time.Minute, true, nil},
		{down, "it never was", "", time.Hour, true, nil},
		{missing, "all are ready", nodes("3x120"), time.Hour, false, nil},
		{missing, "one is not", nodes("3x10 2x110"), time.Hour, true, nil},
		{missing, "one is not, and another pod counts them", counted("a", "3x25 stale", "2x25 stale") +
			counted("b", "_x25 3x95", "_x25 2x95"), 20 * time.Minute, true, nil},
		{missing, "one was not for a while", nodes("3x10 2x10 3x100"), time.Hour, false, nil},
		{calls, "they succeed", handled(csiPod, "OK", "0+1x120"), time.Hour, false, nil},
		{calls, "they fail", handled(csiPod, "Internal", "0+1x120"), time.Hour, true, nil},
		{calls, "they fail on a node", handled(csiHost, "Internal", "0+1x120"), time.Hour, true, nil},
		{calls, "they fail because of the user", handled(csiPod, "InvalidArgument", "0+1x120"), time.Hour, false, nil},
	}
}

func csiCloudScenes() []scene {
	const away, errs, quota = "ThalassaCSICloudAPIAway", "ThalassaCSICloudAPIErrors", "ThalassaCSIQuotaReached"
	const refused, secrets = "ThalassaCSICloudAPIUnauthorised", "ThalassaCSISecretsNotReloaded"
	requests := csiSeries("cloudprovider_thalassa_api_request_duration_seconds_count", csiPod, "", "0+10x120")
	failed := func(reason, samples string) string {
		return requests + csiSeries("cloudprovider_thalassa_api_request_errors", csiPod, `, reason="`+reason+`"`,
			samples)
	}
	circuit := func(samples string) string {
		return csiSeries("cloudprovider_thalassa_api_circuit_open", csiPod, "", samples)
	}
	reload := func(samples string) string {
		return csiSeries("cloudprovider_thalassa_secrets_reload_failing", csiPod, "", samples)
	}
	return []scene{
		{away, "it answers", circuit("0x120"), time.Hour, false, nil},
		{away, "it does not answer", circuit("0x10 1x110"), time.Hour, true, nil},
		{errs, "few fail", failed("unavailable", "0+0.1x120"), time.Hour, false, nil},
		{errs, "many fail", failed("unavailable", "0+5x120"), time.Hour, true, nil},
		{errs, "many are not found", failed("not_found", "0+5x120"), time.Hour, false, nil},
		{refused, "none is refused", failed("unavailable", "0+5x120"), time.Hour, false, nil},
		{refused, "one is refused", failed("unauthorised", "0+5x120"), time.Hour, true, nil},
		{quota, "none is used up", failed("unavailable", "0+5x120"), time.Hour, false, nil},
		{quota, "one is used up", failed("quota", "0+1x120"), time.Hour, true, nil},
		{secrets, "they are read", reload("0x120"), time.Hour, false, nil},
		{secrets, "they are not read", reload("0x10 1x110"), time.Hour, true, nil},
	}
}

// TestCSIAlerts lets Prometheus' own rule engine see what happens: each alert fires when it should and not otherwise.
func TestCSIAlerts(t *testing.T) {
	seen := map[string]map[bool]bool{}
	for _, s := range slices.Concat(csiScenes(), csiCloudScenes()) {
		want := []string(nil)
		if s.fires {
			want = []string{"thalassa-system"}
		}
		if got := firing(t, alertingOf(t, charttest.CSI.RuleGroups(t))[s.alert], s.series, s.after); fmt.Sprint(got) !=
			fmt.Sprint(want) {
			t.Errorf("%s, %s: it fires for %q, want %q", s.alert, s.what, got, want)
		}
		sibling := strings.ReplaceAll(s.series, "thalassa-csi-controller", "thalassa-csi-b-controller")
		sibling = strings.ReplaceAll(sibling, "thalassa-csi-node", "thalassa-csi-b-node")
		if got := firing(t, alertingOf(t, charttest.CSI.RuleGroups(t))[s.alert], sibling, s.after); len(got) > 0 &&
			s.alert != "ThalassaCSIControllerDown" {
			t.Errorf("%s, %s: it fires because of a sibling release", s.alert, s.what)
		}
		if seen[s.alert] == nil {
			seen[s.alert] = map[bool]bool{}
		}
		seen[s.alert][s.fires] = true
	}
	for name := range alertingOf(t, charttest.CSI.RuleGroups(t)) {
		if !seen[name][true] || !seen[name][false] {
			t.Errorf("%s has no scene in which it fires, or none in which it does not", name)
		}
	}
}

// csiMetrics are metrics of the alerts that are not the cloud client's, and their labels: those of Prometheus, of
// kube-state-metrics and of the driver's gRPC server.
func csiMetrics() map[string][]string {
	return map[string][]string{"up": nil, "kube_daemonset_status_desired_number_scheduled": {"daemonset"},
		"kube_daemonset_status_number_ready": {"daemonset"}, "grpc_server_handled_total": {"grpc_method", "grpc_code"}}
}

// TestCSIRulesAreAboutWhatExists: every metric and label is the program's, and every reason is on the reference page.
func TestCSIRulesAreAboutWhatExists(t *testing.T) {
	known := exported(t, offered(t))
	maps.Copy(known, csiMetrics())
	page, reasons := readCheckout(t, "docs/reference/metrics.md"), regexp.MustCompile(`reason!?="([a-z_]+)"`)
	for _, group := range charttest.CSI.RuleGroups(t) {
		for _, rule := range group.Rules {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr.String())
			if err != nil {
				t.Fatal(err)
			}
			for _, selector := range selectors(expr) {
				has, found := known[base(selector.Name)]
				for _, matcher := range selector.LabelMatchers {
					if !found || !slices.Contains(has, matcher.Name) && !slices.Contains(added(), matcher.Name) {
						t.Errorf("%s: no metric %s with label %s", rule.Alert, selector.Name, matcher.Name)
					}
				}
			}
			for _, match := range reasons.FindAllStringSubmatch(rule.Expr.String(), -1) {
				if !strings.Contains(page, "`"+match[1]+"`") {
					t.Errorf("%s: no request fails for the reason %s", rule.Alert, match[1])
				}
			}
		}
	}
}
