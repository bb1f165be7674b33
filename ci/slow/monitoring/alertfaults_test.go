package monitoring

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	"github.com/prometheus/prometheus/promql/promqltest"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	ironlabel "github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A process works well for a time, and then the fault lasts.
const (
	workingTime = 35 * time.Minute
	faultTime   = 75 * time.Minute
)

// alertFault is a fault of the cloud or of the cluster, and the alerts that fire because of it, among others.
type alertFault struct {
	name     string
	alerts   []string
	settings string // more keys of the configuration
	workers  int    // of the service controller; 0: the default
	happen   func(*running)
}

// inject disturbs calls of Thalassa Cloud.
func inject(rules ...fault.Rule) func(*running) {
	return func(r *running) {
		for _, rule := range rules {
			_, err := r.emulator.Inject(rule)
			r.must(err)
		}
	}
}

// half of the calls of an operation.
func half(operation string, effect fault.Effect) func(*running) {
	return inject(fault.Rule{Operation: operation, Probability: 0.5, Seed: 1, Effect: effect})
}

func refuse(status int) fault.Effect { return fault.Effect{Kind: fault.Refuse, Status: status} }

// cloudFaults are faults of Thalassa Cloud.
func cloudFaults() []alertFault {
	return []alertFault{
		{name: "no call is answered", alerts: []string{"ThalassaCloudAPIAway"},
			happen: inject(fault.Rule{Operation: "*", Effect: fault.Effect{Kind: fault.Reset}})},
		{name: "half of the calls fail", alerts: []string{"ThalassaCloudAPIErrors"},
			happen: half("*", refuse(http.StatusInternalServerError))},
		{name: "the credentials expire", alerts: []string{"ThalassaCloudAPIUnauthorised"},
			happen: inject(fault.Rule{Operation: "*", Effect: fault.Effect{Kind: fault.Unauthorised}})},
		{name: "too many calls", alerts: []string{"ThalassaCloudAPIThrottled"},
			happen: half("*", refuse(http.StatusTooManyRequests))},
		{name: "a quota is used up", alerts: []string{"ThalassaCloudQuotaReached", "ThalassaCCMServicesFailing"},
			happen: func(r *running) {
				r.must(r.emulator.SetQuota("", "loadbalancers", 1))
				r.addService("refused")
			}},
		{name: "each call takes long", alerts: []string{"ThalassaCloudAPISlow"},
			happen: inject(fault.Rule{Operation: "*", Effect: fault.Effect{Kind: fault.Latency,
				Delay: 12 * time.Second}})},
		{name: "load balancers cannot be listed",
			alerts: []string{"ThalassaCCMResyncOverdue", "ThalassaCCMInventoryOld"},
			happen: inject(fault.Rule{Operation: "GET /v1/loadbalancers", Effect: refuse(http.StatusBadGateway)})},
		{name: "the quota of routes is used up", alerts: []string{"ThalassaCCMRoutesMissing"},
			happen: func(r *running) {
				r.must(r.emulator.SetQuota("", "route-table-routes", len(r.machines)))
				r.join("worker-d")
			}},
		{name: "writes take long", alerts: []string{"ThalassaCCMQueueStuck"}, workers: 1, happen: func(r *running) {
			for _, method := range []string{"POST *", "PUT *"} {
				inject(fault.Rule{Operation: method, Effect: fault.Effect{Kind: fault.Latency,
					Delay: 25 * time.Second}})(r)
			}
			r.addServices(150)
		}},
	}
}

// clusterFaults are faults of other programs and of users, with either cloud.
func clusterFaults() []alertFault {
	return []alertFault{
		{name: "the lease cannot be renewed", alerts: []string{"ThalassaCCMNoLeader"},
			happen: func(r *running) { r.election.fail() }},
		{name: "the API server fails", alerts: []string{"ThalassaCCMKubernetesAPIErrors"},
			happen: func(r *running) { r.api.down() }},
		{name: "new credentials are wrong", alerts: []string{"ThalassaCCMSecretsNotReloaded"},
			happen: func(r *running) {
				if r.simulator != nil {
					r.simulator.Fail(failing(unauthorised(), func(request simulator.Request) bool {
						return request.Resource == "networks"
					}))
				}
				r.credentials("wrong")
			}},
		{name: "a load balancer is changed, and that is only reported", alerts: []string{"ThalassaCCMDrifted"},
			settings: "loadBalancer: {drift: report}\n", happen: (*running).drift},
		{name: "a Service goes while no process runs", alerts: []string{"ThalassaCCMOrphans"},
			happen: (*running).orphan},
		{name: "another cluster with the same name begins",
			alerts: []string{"ThalassaCCMSameCluster", "ThalassaCCMServicesFailing"},
			happen: (*running).beginElsewhere},
		{name: "two of three machines are deleted", alerts: []string{"ThalassaCCMNodesNotRemoved"},
			happen: func(r *running) { r.lose("worker-b"); r.lose("worker-c") }},
		{name: "a Node without a machine", alerts: []string{"ThalassaCCMNodesUninitialised"},
			happen: func(r *running) { r.registerNode("nobody") }},
	}
}

// beginElsewhere starts a process in another cluster with the same name, which has the same Services.
func (r *running) beginElsewhere() {
	r.Helper()
	r.uid = "6f1c1a52-0000-4000-8000-000000000002"
	r.begin()
}

// drift takes a load balancer its listener or destinations, as a user of the cloud does.
func (r *running) drift() {
	r.Helper()
	if r.simulator != nil {
		for _, balancer := range r.simulator.LoadBalancers() {
			if ironlabel.OwnerOf(balancer).Service.Name == "quiet" {
				r.simulator.ChangeLoadBalancerRouting(balancer.Name,
					func(routing *networkingv1alpha1.LoadBalancerRouting) { routing.Destinations = nil })
			}
		}
		return
	}
	for _, balancer := range r.emulator.State().LoadBalancers {
		if balancer.Labels[label.ServiceName] == "quiet" {
			r.deleteAsUser("/v1/loadbalancers/" + balancer.Identity + "/listeners/" + balancer.Listeners[0].Identity)
		}
	}
}

// deleteAsUser deletes an object of Thalassa Cloud.
func (r *running) deleteAsUser(path string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodDelete, "http://cloud.test"+path, nil)
	r.must(err)
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	request.Header.Set("X-Organisation-Identity", emulator.DefaultOrganisationSlug)
	response, err := r.emulator.Transport().RoundTrip(request)
	r.must(err)
	r.must(response.Body.Close())
	if response.StatusCode >= http.StatusBadRequest {
		r.Fatalf("deleting %s: %s", path, response.Status)
	}
}

// orphan deletes a Service, and its finalizer, while no process runs.
func (r *running) orphan() {
	r.Helper()
	r.process.End()
	r.must(r.cluster.Change(serviceNamed("quiet"), func(object cluster.Object) { object.SetFinalizers(nil) }))
	r.must(r.cluster.Delete(serviceNamed("quiet")))
	r.begin()
}

// failing returns a fault of IronCore for the requests that a condition holds for; nil: for all.
func failing(status *metav1.Status, concerned func(simulator.Request) bool,
) func(simulator.Request) *metav1.Status {
	return func(request simulator.Request) *metav1.Status {
		if concerned == nil || concerned(request) {
			return status
		}
		return nil
	}
}

// answer is an answer of the IronCore API.
func answer(code int32, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{Code: code, Reason: reason, Message: "refused by the test"}
}

func forbidden() *metav1.Status { return answer(http.StatusForbidden, metav1.StatusReasonForbidden) }

func unauthorised() *metav1.Status {
	return answer(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
}

// ironFaults are faults of the IronCore API. Nothing is polled, so that they show only when something is to be done.
func ironFaults() []alertFault {
	all := func(status *metav1.Status) func(*running) {
		return func(r *running) { r.simulator.Fail(failing(status, nil)) }
	}
	return []alertFault{
		{name: "no request is answered", alerts: []string{"IronCoreAPIAway"},
			happen: all(simulator.Fault(simulator.Unreachable))},
		{name: "requests fail", alerts: []string{"IronCoreAPIErrors", "ThalassaCCMServicesFailing"},
			happen: all(answer(http.StatusInternalServerError, metav1.StatusReasonInternalError))},
		{name: "the credentials expire", alerts: []string{"IronCoreAPIUnauthorised"}, happen: all(unauthorised())},
		{name: "a permission is missing", alerts: []string{"IronCoreAPIForbidden"}, happen: all(forbidden())},
		{name: "too many requests", alerts: []string{"IronCoreAPIThrottled"},
			happen: all(answer(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests))},
		{name: "a network interface takes no routes", alerts: []string{"ThalassaCCMRoutesMissing"},
			happen: func(r *running) {
				r.simulator.Fail(failing(forbidden(), func(request simulator.Request) bool {
					return request.Resource == "networkinterfaces" && (request.Verb == "patch" ||
						request.Verb == "update" || request.Verb == "apply")
				}))
				r.join("worker-d")
			}},
		{name: "each request takes long", alerts: []string{"IronCoreAPISlow"}, happen: func(r *running) {
			r.simulator.Fail(slow)
		}},
		{name: "requests take long while many Services are created", alerts: []string{"ThalassaCCMQueueStuck"},
			workers: 1, happen: func(r *running) {
				r.simulator.Fail(slow)
				r.addServices(400)
			}},
	}
}

// slow is a fault of IronCore.
func slow(simulator.Request) *metav1.Status {
	<-time.After(12 * time.Second)
	return nil
}

// record runs a process that works well, lets the fault happen, and returns the recording.
func (f alertFault) record(t *testing.T, ironCore bool) *recording {
	t.Helper()
	return record(t, ironCore, f.settings, func(r *running) {
		if f.workers > 0 {
			r.workers = f.workers
		}
		r.inhabit()
		r.pass(workingTime)
		f.happen(r)
		r.pass(faultTime)
	})
}

// inhabit starts a process in a cluster with Nodes and Services.
func (r *running) inhabit() {
	r.Helper()
	for _, name := range []string{"worker-a", "worker-b", "worker-c"} {
		r.join(name)
	}
	r.addService("web")
	r.addService("quiet")
	r.begin()
}

// alertsOver evaluates rules over a time, and returns the alerts that fire at its end, each with the value of its label
// namespace, and the names of those that fire at any time. A rule keeps its state between two calls.
func alertsOver(t *testing.T, rules map[string]*promrules.AlertingRule, data storage.Queryable,
	from, until time.Time) (atEnd, ever []string) {
	t.Helper()
	query := promrules.EngineQueryFunc(promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000), data)
	fired := map[string]bool{}
	for at := from; at.Before(until); at = at.Add(step) {
		atEnd = nil
		for name, rule := range rules {
			if _, err := rule.Eval(t.Context(), 0, at, query, nil, 0); err != nil {
				t.Fatal(err)
			}
			for _, alert := range rule.ActiveAlerts() {
				if alert.State == promrules.StateFiring {
					fired[name] = true
					atEnd = append(atEnd, name+" in "+alert.Labels.Get("namespace"))
				}
			}
		}
	}
	slices.Sort(atEnd)
	return atEnd, slices.Sorted(maps.Keys(fired))
}

// virtualStart is the time at which virtual time begins.
func virtualStart() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// wantAlerts wants no alert while a process works well, and those of the fault at its end: each once, for the namespace
// of the first recording.
func (f alertFault) wantAlerts(t *testing.T, rules map[string]*promrules.AlertingRule, recordings ...*recording) {
	t.Helper()
	data := store(t, recordings...)
	happens := virtualStart().Add(workingTime)
	if _, early := alertsOver(t, rules, data, virtualStart().Add(time.Minute), happens); len(early) > 0 {
		t.Errorf("before the fault, %q fire", early)
	}
	maps.DeleteFunc(rules, func(name string, _ *promrules.AlertingRule) bool {
		return !slices.Contains(f.alerts, name)
	})
	var want []string
	for _, alert := range f.alerts {
		want = append(want, alert+" in "+recordings[0].namespace)
	}
	slices.Sort(want)
	if got, _ := alertsOver(t, rules, data, happens, happens.Add(faultTime)); !slices.Equal(got, want) {
		t.Errorf("after the fault, %q fire, want %q", got, want)
	}
}

// wantTenants wants the alerts of the fault from the rules of its release and from those for all namespaces, and none
// from the rules of a release that works well in another namespace.
func (f alertFault) wantTenants(t *testing.T, sets []string, failing, working *recording) {
	t.Helper()
	for _, more := range []string{"rules.allNamespaces=false", "rules.allNamespaces=true"} {
		f.wantAlerts(t, alerting(t, slices.Concat(sets, []string{more})...), failing, working)
	}
	rules := alerting(t, slices.Concat(sets, []string{"namespaceOverride=" + working.namespace})...)
	from := virtualStart().Add(time.Minute)
	if _, fired := alertsOver(t, rules, store(t, failing, working), from, from.Add(workingTime+faultTime)); len(
		fired) > 0 {
		t.Errorf("for the release that works well, %q fire", fired)
	}
}

// recordWorking returns the recording of a process that works well while Services and Nodes come.
func recordWorking(t *testing.T, ironCore bool, namespace string) *recording {
	t.Helper()
	return record(t, ironCore, "", func(r *running) {
		r.namespace = namespace
		r.inhabit()
		r.pass(workingTime)
		r.join("worker-d")
		r.addServices(10)
		r.pass(faultTime)
	})
}

// TestAlertsOfRealFaults: each alert fires because of a fault of the emulated cloud or of the cluster, in the metrics
// that the program itself has then, and not before. It fires once, and not for a release of the same name that works
// well in another namespace.
func TestAlertsOfRealFaults(t *testing.T) {
	for name, ironCore := range map[string]bool{"thalassa": false, "ironcore": true} {
		t.Run(name, func(t *testing.T) {
			sets, faults := []string(nil), append(clusterFaults(), cloudFaults()...)
			if ironCore {
				sets, faults = charttest.Iron(), append(clusterFaults(), ironFaults()...)
			}
			missing := alerting(t, sets...)
			delete(missing, "ThalassaCCMTwoLeaders") // needs two processes, see below
			working := recordWorking(t, ironCore, "tenant-b")
			for _, f := range faults {
				t.Run(f.name, func(t *testing.T) { f.wantTenants(t, sets, f.record(t, ironCore), working) })
				for _, alert := range f.alerts {
					delete(missing, alert)
				}
			}
			for alert := range missing {
				t.Errorf("%s has no fault", alert)
			}
		})
	}
}

// TestNoAlertWithoutFault: no alert fires for longer than each of them waits, while Services and Nodes come and go.
func TestNoAlertWithoutFault(t *testing.T) {
	for name, ironCore := range map[string]bool{"thalassa": false, "ironcore": true} {
		t.Run(name, func(t *testing.T) {
			sets := []string(nil)
			if ironCore {
				sets = charttest.Iron()
			}
			data := store(t, recordWorking(t, ironCore, "kube-system"))
			from := virtualStart().Add(time.Minute)
			_, fired := alertsOver(t, alerting(t, sets...), data, from, from.Add(workingTime+faultTime))
			if len(fired) > 0 {
				t.Errorf("%q fire", fired)
			}
		})
	}
}

// TestTwoLeaders: two pods hold leases of different API servers, and one pod alone does not raise the alert.
func TestTwoLeaders(t *testing.T) {
	f := alertFault{alerts: []string{"ThalassaCCMTwoLeaders"}}
	for ironCore, sets := range map[bool][]string{false: nil, true: charttest.Iron()} {
		var pods []*recording
		for _, late := range []time.Duration{0, workingTime} {
			pods = append(pods, record(t, ironCore, "", func(r *running) {
				r.pod = fmt.Sprintf("thalassa-ccm-x7k2%d", len(pods))
				<-time.After(late)
				r.inhabit()
				r.pass(workingTime + faultTime - late)
			}))
		}
		f.wantAlerts(t, alerting(t, sets...), pods...)
	}
}
