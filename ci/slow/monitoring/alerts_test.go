package monitoring

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"k8s.io/apimachinery/pkg/util/rand"
	apinames "k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/yaml"
)

// step is the time between two samples, and between two evaluations of the rules.
const step = 30 * time.Second

// alerting returns the alerts as Prometheus itself loads them from a file, by name.
func alerting(t *testing.T, sets ...string) map[string]*promrules.AlertingRule {
	t.Helper()
	return alertingOf(t, charttest.CCM.RuleGroups(t, sets...))
}

// alertingOf returns the alerts of groups.
func alertingOf(t *testing.T, groups []monitoringv1.RuleGroup) map[string]*promrules.AlertingRule {
	t.Helper()
	content, err := yaml.Marshal(map[string]any{"groups": groups})
	if err != nil {
		t.Fatal(err)
	}
	expressions := parser.NewParser(parser.Options{})
	file, problems := rulefmt.Parse(content, false, model.UTF8Validation, expressions)
	if len(problems) > 0 {
		t.Fatalf("Prometheus refuses the rules: %v", problems)
	}
	found := map[string]*promrules.AlertingRule{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				continue
			}
			expr, err := expressions.ParseExpr(rule.Expr)
			if err != nil {
				t.Fatal(err)
			}
			found[rule.Alert] = promrules.NewAlertingRule(rule.Alert, expr, time.Duration(rule.For),
				time.Duration(rule.KeepFiringFor),
				labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true,
				slog.New(slog.DiscardHandler))
		}
	}
	return found
}

// firing lets Prometheus evaluate series until some time after their begin, and returns the namespaces for which an
// alert then fires. Series are lines as in Prometheus' own tests of rules: a metric and its samples, one for each step.
func firing(t *testing.T, rule *promrules.AlertingRule, series string, after time.Duration) []string {
	t.Helper()
	storage := promqltest.LoadedStorage(t, fmt.Sprintf("load %s\n%s", model.Duration(step), series))
	query := promrules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000), storage)
	for at := time.Duration(0); at <= after; at += step {
		if _, err := rule.Eval(t.Context(), 0, time.Unix(0, 0).Add(at), query, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for _, alert := range rule.ActiveAlerts() {
		if alert.State == promrules.StateFiring {
			found = append(found, alert.Labels.Get("namespace"))
		}
	}
	return found
}

// Pods of the release thalassa-ccm in kube-system, and how a selector of one begins.
const (
	podA = `{namespace="kube-system", container="cloud-controller-manager", pod="thalassa-ccm-x7k2p"`
	podB = `{namespace="kube-system", container="cloud-controller-manager", pod="thalassa-ccm-q9wz4"`
	// siblingPod is one of the release thalassa-ccm-b, and foreign one of the same name in another namespace.
	siblingPod = `{namespace="kube-system", container="cloud-controller-manager", pod="thalassa-ccm-b-x7k2p"`
	foreign    = `{namespace="tenant-a", container="cloud-controller-manager", pod="thalassa-ccm-x7k2p"`
)

// leads is whether a pod leads, over time.
func leads(pod, samples string) string {
	return "  leader_election_master_status" + pod + `, name="cloud-controller-manager"} ` + samples + "\n"
}

// api is one of the program's metrics about the cloud's API, over time.
func api(metric, pod, more, samples string) string {
	return "  cloudprovider_thalassa_api_" + metric + pod + more + "} " + samples + "\n"
}

// scene is a course of events and whether an alert fires at its end.
type scene struct {
	alert, what, series string
	after               time.Duration
	fires               bool
	sets                []string
}

func leaderScenes() []scene {
	const none, two = "ThalassaCCMNoLeader", "ThalassaCCMTwoLeaders"
	all := []string{"rules.allNamespaces=true"}
	return []scene{
		{none, "one of two leads", leads(podA, "1x60") + leads(podB, "0x60"), 30 * time.Minute, false, nil},
		{none, "none of two leads", leads(podA, "0x60") + leads(podB, "0x60"), 6 * time.Minute, true, nil},
		{none, "none leads for a moment", leads(podA, "0x60") + leads(podB, "0x60"), 4 * time.Minute, false, nil},
		{none, "the leader vanished, the other took over", leads(podA, "1x10 stale") + leads(podB, "0x14 1x40"),
			20 * time.Minute, false, nil},
		{none, "the leader vanished, the other did not take over", leads(podA, "1x10 stale") + leads(podB, "0x60"),
			20 * time.Minute, true, nil},
		{none, "both vanished", leads(podA, "1x10 stale") + leads(podB, "0x10 stale"), 20 * time.Minute, true, nil},
		{none, "both vanished long ago", leads(podA, "1x10 stale") + leads(podB, "0x10 stale"), 3 * time.Hour, true,
			nil},
		{none, "there never was one", "", 10 * time.Minute, true, nil},
		{none, "a sibling leads", leads(podA, "0x60") + leads(siblingPod, "1x60"), 10 * time.Minute, true, nil},
		{none, "a sibling does not lead", leads(podA, "1x60") + leads(siblingPod, "0x60"), 10 * time.Minute, false,
			nil},
		{none, "another namespace leads", leads(podA, "0x60") + leads(foreign, "1x60"), 10 * time.Minute, true, nil},
		{none, "another namespace does not lead", leads(podA, "1x60") + leads(foreign, "0x60"), 10 * time.Minute, false,
			nil},
		{none, "of all namespaces one has none", leads(podA, "0x60") + leads(foreign, "1x60"), 10 * time.Minute, true,
			all},
		{none, "of all namespaces none was ever there", "", 10 * time.Minute, false, all},
		{two, "two lead", leads(podA, "1x60") + leads(podB, "1x60"), 10 * time.Minute, true, nil},
		{two, "two lead for a moment", leads(podA, "1x12 stale") + leads(podB, "0x10 1x40"), 10 * time.Minute, false,
			nil},
		{two, "one and a sibling", leads(podA, "1x60") + leads(siblingPod, "1x60"), 10 * time.Minute, false, nil},
		{two, "one and another namespace", leads(podA, "1x60") + leads(foreign, "1x60"), 10 * time.Minute, false, all},
	}
}

func apiScenes() []scene {
	requests := api("request_duration_seconds_count", podA, `, request="GET /v1/machines"`, "0+300x120")
	errors := func(reason, samples string) string {
		return requests + api("request_errors", podA, `, request="GET /v1/machines", reason="`+reason+`"`, samples)
	}
	buckets := func(quick string) string {
		quantile := func(le, samples string) string {
			return api("request_duration_seconds_bucket", podA, `, request="GET", le="`+le+`"`, samples)
		}
		return quantile("10", quick) + quantile("30", "0+300x120") + quantile("+Inf", "0+300x120")
	}
	return []scene{
		{"ThalassaCloudAPIAway", "the circuit is open", api("circuit_open", podA, "", "1x60"), 10 * time.Minute, true,
			nil},
		{"ThalassaCloudAPIAway", "the circuit was open", api("circuit_open", podA, "", "1x8 0x60"), 10 * time.Minute,
			false, nil},
		{"ThalassaCloudAPIErrors", "a fifth fails", errors("server", "0+60x120"), 30 * time.Minute, true, nil},
		{"ThalassaCloudAPIErrors", "a fiftieth fails", errors("server", "0+6x120"), 30 * time.Minute, false, nil},
		{"ThalassaCloudAPIErrors", "a fifth is not there", errors("not_found", "0+60x120"), 30 * time.Minute, false,
			nil},
		{"ThalassaCloudAPIUnauthorised", "the credentials are refused", errors("unauthorised", "0+1x120"),
			20 * time.Minute, true, nil},
		{"ThalassaCloudAPIUnauthorised", "they were refused", errors("unauthorised", "0+1x8 8x120"), 40 * time.Minute,
			false, nil},
		{"ThalassaCloudAPIUnauthorised", "something else fails", errors("server", "0+1x120"), 20 * time.Minute, false,
			nil},
		{"ThalassaCloudAPIThrottled", "too many requests", errors("throttled", "0+1x120"), 30 * time.Minute, true, nil},
		{"ThalassaCloudAPIThrottled", "a burst", errors("throttled", "0+1x10 10x120"), 30 * time.Minute, false, nil},
		{"ThalassaCloudQuotaReached", "a quota is used up", errors("quota", "0x10 1+1x60"), 20 * time.Minute, true,
			nil},
		{"ThalassaCloudQuotaReached", "there is room again", errors("quota", "0+1x8 8x120"), 40 * time.Minute, false,
			nil},
		{"ThalassaCloudAPISlow", "a tenth takes longer", buckets("0+270x120"), 30 * time.Minute, true, nil},
		{"ThalassaCloudAPISlow", "all are quick", buckets("0+300x120"), 30 * time.Minute, false, nil},
	}
}

// ironScenes are about the alerts that only IronCore has, and about those that have another metric with it.
func ironScenes() []scene {
	metric := func(name, more, samples string) string {
		return "  cloudprovider_ironcore_" + name + podA + more + "} " + samples + "\n"
	}
	requests := metric("api_request_duration_seconds_count", `, verb="get", resource="networks"`, "0+300x120")
	failed := func(verb, code, samples string) string {
		return requests + metric("api_request_errors", `, verb="`+verb+`", resource="networks", code="`+code+`"`,
			samples)
	}
	buckets := func(quick string) string {
		quantile := func(le, samples string) string {
			return metric("api_request_duration_seconds_bucket", `, verb="get", resource="networks", le="`+le+`"`,
				samples)
		}
		return quantile("10", quick) + quantile("30", "0+300x120") + quantile("+Inf", "0+300x120")
	}
	const away, errors, unauthorised, forbidden, throttled, slow = "IronCoreAPIAway", "IronCoreAPIErrors",
		"IronCoreAPIUnauthorised", "IronCoreAPIForbidden", "IronCoreAPIThrottled", "IronCoreAPISlow"
	const reload = "ThalassaCCMSecretsNotReloaded"
	return []scene{
		{away, "no request is answered", failed("get", "unreachable", "0+300x120"), 10 * time.Minute, true,
			charttest.Iron()},
		{away, "all time out", failed("get", "timeout", "0+300x120"), 10 * time.Minute, true, charttest.Iron()},
		{away, "it answers again", failed("get", "503", "0+300x4 1200x120"), 20 * time.Minute, false, charttest.Iron()},
		{away, "a few fail", failed("get", "503", "0+30x120"), 10 * time.Minute, false, charttest.Iron()},
		{away, "all objects are missing", failed("get", "404", "0+300x120"), 10 * time.Minute, false, charttest.Iron()},
		{away, "only watches end", failed("watch", "unreachable", "0+300x120"), 10 * time.Minute, false,
			charttest.Iron()},
		{errors, "a fifth fails", failed("get", "500", "0+60x120"), 30 * time.Minute, true, charttest.Iron()},
		{errors, "a fiftieth fails", failed("get", "500", "0+6x120"), 30 * time.Minute, false, charttest.Iron()},
		{errors, "a fifth is not there", failed("get", "404", "0+60x120"), 30 * time.Minute, false, charttest.Iron()},
		{errors, "a fifth is in conflict", failed("patch", "409", "0+60x120"), 30 * time.Minute, false,
			charttest.Iron()},
		{unauthorised, "the credentials are refused", failed("watch", "401", "0+1x120"), 20 * time.Minute, true,
			charttest.Iron()},
		{unauthorised, "they were refused", failed("get", "401", "0+1x8 8x120"), 40 * time.Minute, false,
			charttest.Iron()},
		{forbidden, "a permission is missing", failed("list", "403", "0+1x120"), 30 * time.Minute, true,
			charttest.Iron()},
		{forbidden, "it is there again", failed("list", "403", "0+1x8 8x120"), 40 * time.Minute, false,
			charttest.Iron()},
		{throttled, "too many requests", failed("patch", "429", "0+1x120"), 30 * time.Minute, true, charttest.Iron()},
		{throttled, "a burst", failed("patch", "429", "0+1x10 10x120"), 30 * time.Minute, false, charttest.Iron()},
		{slow, "a tenth takes longer", buckets("0+270x120"), 30 * time.Minute, true, charttest.Iron()},
		{slow, "all are quick", buckets("0+300x120"), 30 * time.Minute, false, charttest.Iron()},
		{reload, "new ones are no good", metric("secrets_reload_failing", "", "1x60"), 20 * time.Minute, true,
			charttest.Iron()},
		{reload, "they were half written", metric("secrets_reload_failing", "", "0x5 1x4 0x60"), 20 * time.Minute,
			false, charttest.Iron()},
	}
}

func programScenes() []scene {
	program := func(metric, more, samples string) string { return "  " + metric + podA + more + "} " + samples + "\n" }
	requests := func(code, samples string) string {
		return program("rest_client_requests_total", `, code="200"`, "0+100x120") +
			program("rest_client_requests_total", `, code="`+code+`"`, samples)
	}
	const reload, queue, kubernetes = "ThalassaCCMSecretsNotReloaded", "ThalassaCCMQueueStuck",
		"ThalassaCCMKubernetesAPIErrors"
	return []scene{
		{reload, "new ones are no good", program("cloudprovider_thalassa_secrets_reload_failing", "", "1x60"),
			20 * time.Minute, true, nil},
		{reload, "they were half written", program("cloudprovider_thalassa_secrets_reload_failing", "", "0x5 1x4 0x60"),
			20 * time.Minute, false, nil},
		{queue, "many wait", program("workqueue_depth", `, name="service"`, "80x120"), 40 * time.Minute, true, nil},
		{queue, "many came at once", program("workqueue_depth", `, name="service"`, "80x10 3x120"), 40 * time.Minute,
			false, nil},
		{queue, "the leader changes", program("workqueue_depth", `, name="service"`, "80x25 stale") +
			"  workqueue_depth" + podB + `, name="service"} _x25 80x95` + "\n", 20 * time.Minute, true, nil},
		{queue, "few wait", program("workqueue_depth", `, name="service"`, "20x120"), 40 * time.Minute, false, nil},
		{kubernetes, "it may not", requests("403", "0+50x120"), 30 * time.Minute, true, nil},
		{kubernetes, "no answer", requests("<error>", "0+50x120"), 30 * time.Minute, true, nil},
		{kubernetes, "conflicts", requests("409", "0+50x120"), 30 * time.Minute, false, nil},
		{kubernetes, "a few errors", requests("500", "0+2x120"), 30 * time.Minute, false, nil},
	}
}

func serviceScenes() []scene {
	service := func(metric, pod, more, samples string) string {
		return "  service_lb_" + metric + pod + more + "} " + samples + "\n"
	}
	reconciled := func(result, samples string) string {
		return service("reconcile_duration_seconds_count", podA, `, result="`+result+`"`, samples)
	}
	age := func(kind, samples string) string {
		return `  cloudprovider_thalassa_inventory_age_seconds` + podA + `, kind="` + kind + `"} ` + samples + "\n"
	}
	const failing, drifted, orphans, old = "ThalassaCCMServicesFailing", "ThalassaCCMDrifted", "ThalassaCCMOrphans",
		"ThalassaCCMInventoryOld"
	const overdue, sameCluster = "ThalassaCCMResyncOverdue", "ThalassaCCMSameCluster"
	// One that fails is tried again ever more rarely, down to every five minutes: every tenth sample.
	rarely := "1x10 2x10 3x10 4x10 5x10 6x10 7x10 8x10 9x10 10x10 11x10 12x10"
	return []scene{
		{failing, "one fails again and again", reconciled("failed", rarely), time.Hour, true, nil},
		{failing, "one failed for a while", reconciled("failed", "1x10 2x10 3x100"), time.Hour, false, nil},
		{failing, "all go well", reconciled("done", "0+5x120") + reconciled("waiting", "0+1x120"), time.Hour, false,
			nil},
		{drifted, "it is left as it is", service("drifted", podA, "", "1x120"), time.Hour, true, nil},
		{drifted, "it was put right", service("drifted", podA, "", "0x10 2x10 0x100"), time.Hour, false, nil},
		{drifted, "that of another namespace", service("drifted", foreign, "", "1x120"), time.Hour, false, nil},
		{orphans, "something is left", service("orphans", podA, `, kind="target group"`, "2x120"),
			time.Hour, true, nil},
		{orphans, "it was removed", service("orphans", podA, `, kind="target group"`, "2x20 stale"), time.Hour,
			false, nil},
		{sameCluster, "something has another UID", service("foreign", podA, `, kind="load balancer"`, "2x120"),
			time.Hour, true, nil},
		{sameCluster, "it was taken over", service("foreign", podA, `, kind="load balancer"`, "2x5 stale"), time.Hour,
			false, nil},
		{overdue, "no resync succeeds any more",
			service("resync_timestamp_seconds", podA, "", "0x10 300x200"), time.Hour,
			true, nil},
		{overdue, "none ever did", service("resync_timestamp_seconds", podA, "", "0x200"), 50 * time.Minute, true, nil},
		{overdue, "the first has not come yet", service("resync_timestamp_seconds", podA, "", "0x200"),
			19 * time.Minute, false, nil},
		{overdue, "one resyncs, and one stands by", service("resync_timestamp_seconds", podA, "",
			"0x9 300x9 600x9 900x9 1200x9 1500x9 1800x9 2100x9 2400x9 2700x9 3000x9 3300x9 3600x9") +
			service("resync_timestamp_seconds", podB, "", "0x200"), time.Hour, false, nil},
		{overdue, "another took over", service("resync_timestamp_seconds", podA, "", "0+30x60 stale") +
			service("resync_timestamp_seconds", podB, "", "0x80 2400+30x200"), 90 * time.Minute, false, nil},
		{overdue, "a resync every hour", service("resync_timestamp_seconds", podA, "", "0x119 3600x119"),
			100 * time.Minute, false, []string{"cloudConfig.loadBalancer.driftPeriod=3600"}},
		{old, "load balancers cannot be listed", age("load balancer", "0+30x120"), time.Hour, true, nil},
		{old, "they are listed every five minutes",
			age("load balancer", "0+30x9 0+30x9 0+30x9 0+30x9 0+30x9 0+30x9 0+30x9 0+30x9"), 39 * time.Minute, false,
			nil},
		{old, "a standby knows the VPC", age("VPC", "0+30x120"), time.Hour, false, nil},
		{old, "they are listed every hour", age("load balancer", "0+30x120"), time.Hour, false,
			[]string{"cloudConfig.loadBalancer.driftPeriod=3600"}},
		{old, "they are never listed", age("load balancer", "0+30x120"), time.Hour, false,
			[]string{"cloudConfig.loadBalancer.driftPeriod=0"}},
		{old, "only load balancers are never listed", age("machine", "0+30x120"), time.Hour, true,
			[]string{"cloudConfig.loadBalancer.driftPeriod=0"}},
	}
}

func nodeScenes() []scene {
	const kept = "ThalassaCCMNodesNotRemoved"
	blocked := func(pod, reason, samples string) string {
		return "  node_lifecycle_deletions_blocked" + pod + `, reason="` + reason + `"} ` + samples + "\n"
	}
	const routes = "ThalassaCCMRoutesMissing"
	lacking := func(pod, samples string) string {
		return "  node_route_nodes_without_route" + pod + "} " + samples + "\n"
	}
	const waits = "ThalassaCCMNodesUninitialised"
	waiting := func(pod, samples string) string {
		return "  node_controller_uninitialised" + pod + "} " + samples + "\n"
	}
	return []scene{
		{waits, "a Node waits", waiting(podA, "1x120"), 20 * time.Minute, true, nil},
		{waits, "one Node after the other", waiting(podA, "3x20 1x100"), 30 * time.Minute, true, nil},
		{waits, "the leader changes", waiting(podA, "1x25 stale") + waiting(podB, "_x25 1x95"), 20 * time.Minute, true,
			nil},
		{waits, "they are initialised", waiting(podA, "5x20 0x5 5x20 0x75"), 20 * time.Minute, false, nil},
		{waits, "those of another namespace", waiting(foreign, "2x120"), time.Hour, false, nil},
		{routes, "Nodes lack routes", lacking(podA, "0x20 2x120"), 30 * time.Minute, true, nil},
		{routes, "one Node after the other", lacking(podA, "3x20 1x100"), 30 * time.Minute, true, nil},
		{routes, "the leader changes", lacking(podA, "1x25 stale") + lacking(podB, "_x25 1x95"), 20 * time.Minute, true,
			nil},
		{routes, "they are made", lacking(podA, "500x10 0x5 2x20 0x75"), 20 * time.Minute, false, nil},
		{routes, "no program makes any", "", time.Hour, false, nil},
		{routes, "those of another namespace", lacking(foreign, "2x120"), time.Hour, false, nil},
		{kept, "too many at once", blocked(podA, "deletion_budget", "3x120"), time.Hour, true, nil},
		{kept, "one reason after the other",
			blocked(podA, "credential_check", "1x30 0x90") + blocked(podA, "list_incomplete",
				"0x30 1x90"), 40 * time.Minute, true, nil},
		{kept, "it passed", blocked(podA, "contradicted", "0x10 1x40 0x100"), 40 * time.Minute, false, nil},
		{kept, "their owners asked for it", blocked(podA, "kept", "2x120") + blocked(podA, "dry_run", "2x120"),
			time.Hour, false, nil},
		{kept, "those of another namespace", blocked(foreign, "deletion_budget", "2x120"), time.Hour, false, nil},
	}
}

// TestAlertsFollowControllers: without load balancers nothing is wrong with them, and without nodes no program lists
// machines.
func TestAlertsFollowControllers(t *testing.T) {
	ofServices := []string{"ThalassaCCMServicesFailing", "ThalassaCCMDrifted", "ThalassaCCMOrphans",
		"ThalassaCCMSameCluster"}
	const noNodes, noServices = "cloudConfig.instancesV2.enabled=false", "cloudConfig.loadBalancer.enabled=false"
	for name, test := range map[string]struct {
		sets          []string
		services, old bool
		resync, nodes bool
		waits         bool
	}{
		"all":               {nil, true, true, true, true, true},
		"no load balancers": {[]string{noServices}, false, true, false, true, true},
		"no nodes":          {[]string{noNodes}, true, true, true, false, false},
		"no nodes, and no resyncs": {[]string{noNodes, "cloudConfig.loadBalancer.driftPeriod=0"}, true, false,
			false, false, false},
		"neither load balancers, nodes": {[]string{noNodes, noServices}, false, false, false, false, false},
		"no node life cycle": {[]string{"controllers.cloud-node-lifecycle-controller=false"}, true, true,
			true, false, true},
		"no node controller": {[]string{"controllers.cloud-node-controller=false"}, true, true, true, true,
			false},
	} {
		alerts := alerting(t, test.sets...)
		for _, alert := range ofServices {
			if (alerts[alert] != nil) != test.services {
				t.Errorf("%s: there is %s: %v, want %v", name, alert, alerts[alert] != nil, test.services)
			}
		}
		if (alerts["ThalassaCCMResyncOverdue"] != nil) != test.resync {
			t.Errorf("%s: there is an alert about resyncs: %v, want %v", name, !test.resync, test.resync)
		}
		if (alerts["ThalassaCCMNodesNotRemoved"] != nil) != test.nodes {
			t.Errorf("%s: there is an alert about Nodes that are not removed: %v, want %v", name, !test.nodes,
				test.nodes)
		}
		if (alerts["ThalassaCCMNodesUninitialised"] != nil) != test.waits {
			t.Errorf("%s: there is an alert about Nodes that wait: %v, want %v", name, !test.waits, test.waits)
		}
		if (alerts["ThalassaCCMInventoryOld"] != nil) != test.old {
			t.Errorf("%s: there is an alert about old lists: %v, want %v", name, !test.old, test.old)
		}
	}
}

// TestAlertsOfIronCore: objects are watched, so that there is no list that could be old, and no check that could be
// overdue.
func TestAlertsOfIronCore(t *testing.T) {
	other := alerting(t)
	for name := range alerting(t, charttest.Iron()...) {
		if strings.HasPrefix(name, "ThalassaCloud") || name == "ThalassaCCMInventoryOld" ||
			name == "ThalassaCCMResyncOverdue" {
			t.Errorf("IronCore has the alert %s", name)
		}
		if strings.HasPrefix(name, "IronCore") && other[name] != nil {
			t.Errorf("Thalassa Cloud has the alert %s", name)
		}
		delete(other, name)
	}
	for name := range other {
		if !strings.HasPrefix(name, "ThalassaCloud") && name != "ThalassaCCMInventoryOld" &&
			name != "ThalassaCCMResyncOverdue" {
			t.Errorf("IronCore has no alert %s", name)
		}
	}
}

// TestAlerts lets Prometheus' own rule engine see what happens: each alert fires when it should and not otherwise.
// Where one fires, the same of a sibling release's pods is none of ours.
func TestAlerts(t *testing.T) {
	seen := map[string]map[bool]bool{}
	for _, s := range slices.Concat(leaderScenes(), apiScenes(), ironScenes(), programScenes(), serviceScenes(),
		nodeScenes()) {
		t.Run(s.alert+" "+s.what, func(t *testing.T) {
			rule := alerting(t, s.sets...)[s.alert]
			if rule == nil {
				t.Fatal("there is no such alert")
			}
			want := []string(nil)
			if s.fires {
				want = []string{"kube-system"}
			}
			if got := firing(t, rule, s.series, s.after); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("it fires for %q, want %q", got, want)
			}
			siblings := strings.ReplaceAll(s.series, "thalassa-ccm-", "thalassa-ccm-b-")
			if s.alert != "ThalassaCCMNoLeader" &&
				len(firing(t, alerting(t, s.sets...)[s.alert], siblings, s.after)) > 0 {
				t.Error("it fires because of a sibling release")
			}
		})
		if seen[s.alert] == nil {
			seen[s.alert] = map[bool]bool{}
		}
		seen[s.alert][s.fires] = true
	}
	all := alerting(t)
	maps.Copy(all, alerting(t, charttest.Iron()...))
	for name := range all {
		if !seen[name][true] || !seen[name][false] {
			t.Errorf("%s has no scene in which it fires, or none in which it does not", name)
		}
	}
}

// podsMatcher is the matcher of pods in the rules of a release whose objects have a name.
func podsMatcher(t *testing.T, name string, sets ...string) *regexp.Regexp {
	t.Helper()
	sets = append([]string{"rules.enabled=true", "fullnameOverride=" + name}, sets...)
	rendered := charttest.CCM.Objects(t, charttest.CCM.Minimal(t, sets...))
	expr := charttest.Find[*monitoringv1.PrometheusRule](t, rendered, name).Spec.Groups[0].Rules[0].Expr.String()
	pattern := regexp.MustCompile(`pod=~"([^"]+)"`).FindStringSubmatch(expr)
	if pattern == nil {
		t.Fatalf("the rules select no pods: %s", expr)
	}
	return regexp.MustCompile("^(?:" + pattern[1] + ")$") // as Prometheus does
}

// podName is what Kubernetes names a pod of a workload.
func podName(kind, workload string) string {
	if kind == "Deployment" {
		workload += "-" + rand.SafeEncodeString(fmt.Sprint(rand.IntnRange(100_000_000, math.MaxUint32)))
	}
	return apinames.SimpleNameGenerator.GenerateName(workload + "-")
}

// TestRulesKnowTheirPods by the names that Kubernetes makes, for workloads of every length of name.
func TestRulesKnowTheirPods(t *testing.T) {
	for _, kind := range []string{"DaemonSet", "Deployment"} {
		for length := 1; length <= 63; length++ {
			name := strings.Repeat("n", length)
			matcher := podsMatcher(t, name, "kind="+kind)
			for range 20 {
				if pod := podName(kind, name); !matcher.MatchString(pod) {
					t.Errorf("%s of %d characters: %s does not match %s", kind, length, pod, matcher)
				}
			}
		}
		matcher := podsMatcher(t, "thalassa-ccm", "kind="+kind)
		for _, sibling := range []string{"thalassa-ccm-b", "thalassa-ccm-2", "thalassa-ccm-eu-1", "b-thalassa-ccm",
			"thalassa-ccm-staging"} {
			for _, other := range []string{"DaemonSet", "Deployment"} {
				if pod := podName(other, sibling); matcher.MatchString(pod) {
					t.Errorf("%s of a sibling matches %s", pod, matcher)
				}
			}
		}
	}
}
