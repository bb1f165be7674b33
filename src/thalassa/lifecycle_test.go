package thalassa

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// failureMode makes the cloud answer wrongly about machines that all exist, and ends that.
type failureMode struct {
	begin func(*lifecycleCluster)
	end   func(*lifecycleCluster)
	more  string // nodes that it adds, and that stay when it has ended
}

// disturbed are faults of the emulator's: that of all calls of an operation, and others.
func disturbed(operation string, effect fault.Effect, more ...fault.Rule) failureMode {
	return ruled(append(more, fault.Rule{Operation: operation, Effect: effect})...)
}

// ruled are faults of the emulator's.
func ruled(rules ...fault.Rule) failureMode {
	return failureMode{begin: func(r *lifecycleCluster) {
		for _, rule := range rules {
			_, err := r.emulator.Inject(rule)
			r.act(err)
		}
	}, end: func(r *lifecycleCluster) { r.emulator.ClearFaults() }}
}

// configured is another configuration, with which a process starts.
func configured(change func(*lifecycleCluster)) failureMode {
	var before lifecycleCluster
	return failureMode{
		begin: func(r *lifecycleCluster) {
			lab := *r.lab
			before.lab = &lab
			change(r)
			r.begin()
		},
		end: func(r *lifecycleCluster) {
			r.config, r.credentials, r.network = before.config, before.credentials, before.network
			r.begin()
		},
	}
}

// answered is something between the provider and the cloud that answers lists of servers, from the start of a process
// or later.
func answered(status int, kind, body string) failureMode {
	return intercepted(func(request *http.Request) *http.Response {
		if request.URL.Path != "/v1/machines" {
			return nil
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(strings.NewReader(body))}
	})
}

// intercepted answers some requests while it is on.
func intercepted(answer func(*http.Request) *http.Response) failureMode {
	on := &atomic.Bool{}
	return failureMode{
		begin: func(r *lifecycleCluster) {
			r.between(func(request *http.Request) *http.Response {
				if on.Load() {
					return answer(request)
				}
				return nil
			})
			r.begin()
			on.Store(true)
		},
		end: func(*lifecycleCluster) { on.Store(false) },
	}
}

// failureModes are known reasons why other controllers removed nodes of existing machines, by what was reported.
func failureModes() map[string]failureMode {
	const lists, everything = "GET /v1/machines", "*"
	return map[string]failureMode{
		"48 rate limited list": disturbed(lists, fault.Effect{Kind: fault.Refuse, Status: 429,
			RetryAfter: 10 * time.Second}),
		"48 rate limited now and then": ruled(fault.Rule{Operation: everything, Probability: 0.5, Seed: 7,
			Effect: fault.Effect{Kind: fault.Refuse, Status: 429}}),
		"48 partial lists": disturbed(lists, fault.Effect{Kind: fault.Partial}),
		"48 partial lists now and then": ruled(fault.Rule{Operation: lists, Probability: 0.5, Seed: 3,
			Effect: fault.Effect{Kind: fault.Partial}}),
		"49 token cannot list": disturbed(lists, fault.Effect{Kind: fault.Forbidden}),
		"49 token cannot get": disturbed("GET /v1/machines/{id}", fault.Effect{Kind: fault.Forbidden},
			fault.Rule{Operation: lists, Effect: fault.Effect{Kind: fault.Partial}}),
		"49 empty lists":           answered(http.StatusOK, "application/json", "[]"),
		"49 null lists":            answered(http.StatusOK, "application/json", "null"),
		"50 server errors":         disturbed(everything, fault.Effect{Kind: fault.Refuse, Status: 500}),
		"50 bad gateway":           disturbed(everything, fault.Effect{Kind: fault.NotJSON, Status: 502}),
		"50 not found, of a proxy": disturbed(everything, fault.Effect{Kind: fault.NotJSON, Status: 404}),
		"50 not found, of all by ID": disturbed("GET /v1/*/{id}", fault.Effect{Kind: fault.Refuse, Status: 404},
			fault.Rule{Operation: lists, Effect: fault.Effect{Kind: fault.Partial}}),
		"50 empty answers":            disturbed(everything, fault.Effect{Kind: fault.Empty}),
		"50 malformed answers":        disturbed(everything, fault.Effect{Kind: fault.Malformed}),
		"50 answers that break off":   disturbed(everything, fault.Effect{Kind: fault.Truncate}),
		"50 objects without anything": intercepted(hollow),
		"51 stale lists":              disturbed(lists, fault.Effect{Kind: fault.Stale, Delay: 24 * time.Hour}),
		"51 everything is stale":      disturbed("GET *", fault.Effect{Kind: fault.Stale, Delay: 24 * time.Hour}),
		"53 network outage":           disturbed(everything, fault.Effect{Kind: fault.Reset}),
		"53 hanging":                  disturbed(everything, fault.Effect{Kind: fault.Hang}),
		"53 slow": disturbed(everything, fault.Effect{Kind: fault.Latency,
			Delay: 20 * time.Second}, fault.Rule{Operation: lists, Count: 5,
			Effect: fault.Effect{Kind: fault.Partial}}),
		"wrong token": configured(func(r *lifecycleCluster) {
			r.credentials = secret.Credentials{PersonalAccessToken: "wrong"}
		}),
		"token refused later": disturbed(everything, fault.Effect{Kind: fault.Unauthorised}),
		"wrong organisation": configured(func(r *lifecycleCluster) {
			r.config.Organisation, r.credentials = otherOrganisation, theirs()
		}),
		"organisation and VPC of others": configured(func(r *lifecycleCluster) {
			r.config.Organisation, r.config.VPCIdentity, r.credentials = otherOrganisation, "vpc-theirs", theirs()
		}),
		"wrong VPC":                  configured(func(r *lifecycleCluster) { r.config.VPCIdentity = otherVPC }),
		"VPC that there is not":      configured(func(r *lifecycleCluster) { r.config.VPCIdentity = "vpc-nowhere" }),
		"another organisation later": intercepted(redirected),
		"node that names no server": {more: " oops", end: func(*lifecycleCluster) {}, begin: func(r *lifecycleCluster) {
			r.register(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "oops", UID: "oops"},
				Spec: corev1.NodeSpec{ProviderID: ProviderName + ":///oops"}})
		}},
	}
}

func theirs() secret.Credentials {
	return secret.Credentials{ClientID: otherClient, ClientSecret: otherClient}
}

// hollow answers every question about one thing with an object that has nothing in it, and lists with an empty one.
func hollow(request *http.Request) *http.Response {
	body := "{}"
	switch {
	case strings.HasSuffix(request.URL.Path, "/oidc/token"):
		return nil
	case request.URL.Path == "/v1/machines":
		body = "[]"
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body))}
}

// redirected answers as for an organisation that has nothing.
func redirected(request *http.Request) *http.Response {
	status, body := http.StatusNotFound, `{"message":"not found"}`
	switch {
	case strings.HasSuffix(request.URL.Path, "/oidc/token"):
		return nil
	case request.URL.Path == "/v1/machines":
		status, body = http.StatusOK, "[]"
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body))}
}

// TestNoLivingNodeGoes, whatever the cloud says, for one node whose kubelet is silent and for all; and a node whose
// server is deleted afterwards goes within the time that is promised. In the quick tier, one node is silent for every
// other failure mode, and all are for the rest.
func TestNoLivingNodeGoes(t *testing.T) {
	t.Parallel()
	for name, m := range failureModes() {
		one := tier.Has(name, 2)
		for silent, names := range map[string][]string{"one is silent": {"b"}, "all are silent": {"a", "b", "c", "d"}} {
			if !tier.Full() && one != (len(names) == 1) {
				continue
			}
			t.Run(name+", "+silent, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { suffer(t, m, names) })
			})
		}
	}
}

func suffer(t *testing.T, m failureMode, silent []string) {
	t.Helper()
	r := newLifecycleCluster(t, emulator.Config{Seed: twoOf()}, "a", "b", "c", "d")
	m.begin(r)
	for _, name := range silent {
		r.report(name, corev1.ConditionUnknown)
	}
	r.pass(tierSize().failureTime)
	r.want("nodes", r.names(), "a b c d"+m.more)

	m.end(r)
	for _, name := range silent {
		if name != "b" {
			r.report(name, corev1.ConditionTrue)
		}
	}
	r.pass(5*time.Minute + r.lifeLimit()) // a process that just began waits for a while
	r.want("nodes when all is well", r.names(), "a b c d"+m.more)
	r.act(r.emulator.DeleteMachine("b"))
	r.pass(r.lifeLimit())
	r.want("nodes when a server is really deleted", r.names(), "a c d"+m.more)
}

// TestServerReplaced under the same name: its kubelet uses the node of the old one, so that stays, also while the
// kubelet is silent. The node's owner is informed; without a server of that name the node goes.
func TestServerReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLifecycleCluster(t, emulator.Config{}, "a", "b")
		r.act(r.emulator.DeleteMachine("b"))
		again := r.nodes("b")[0]
		r.pass(time.Hour)
		r.want("nodes while the kubelet of the new one uses the node of the old", r.names(), "a b")
		r.events()
		r.report("b", corev1.ConditionUnknown)
		r.pass(30 * time.Minute)
		r.want("nodes when it is silent", r.names(), "a b")
		id, _ := providerid.Machine(again.Spec.ProviderID)
		if reported := r.events(); len(reported) != 1 || !strings.Contains(reported[0], "NodeNotRemoved") ||
			!strings.Contains(reported[0], id) {
			t.Errorf("events %q, want one that names server %s", reported, id)
		}
		r.act(r.emulator.DeleteMachine("b"))
		r.pass(r.lifeLimit())
		r.want("nodes when the new one is deleted, too", r.names(), "a")
	})
}

// TestMachineInOtherVPC: a ready node whose server is in another VPC does not stand in the way of others, and stays
// when it is silent.
func TestMachineInOtherVPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLifecycleCluster(t, emulator.Config{Seed: twoOf()}, "a", "b", "c")
		id, err := r.emulator.AddMachine(emulator.MachineSpec{Name: "far", Subnet: "subnet-far"})
		r.act(err)
		r.register(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "far", UID: "far"},
			Spec: corev1.NodeSpec{ProviderID: providerid.Of(id)}})
		r.act(r.emulator.DeleteMachine("b"))
		r.report("b", corev1.ConditionUnknown)
		r.pass(r.lifeLimit())
		r.want("nodes", r.names(), "a c far")
		r.pass(10 * time.Minute) // one may go
		r.events()
		r.report("far", corev1.ConditionUnknown)
		r.pass(30 * time.Minute)
		r.want("nodes when that one is silent", r.names(), "a c far")
		if reported := r.events(); len(reported) != 1 || !strings.Contains(reported[0], otherVPC) {
			t.Errorf("events %q, want one that names VPC %s", reported, otherVPC)
		}
	})
}

// TestUncertaintyCosts: whatever lasts, the cloud is asked a bounded number of times.
func TestUncertaintyCosts(t *testing.T) {
	t.Parallel()
	for name, m := range failureModes() {
		if !tier.Has(name, 4) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newLifecycleCluster(t, emulator.Config{Seed: twoOf()}, "a", "b", "c", "d")
				m.begin(r)
				for _, one := range []string{"b", "c"} {
					r.report(one, corev1.ConditionUnknown)
				}
				r.pass(10 * time.Minute)
				r.emulator.ResetCounters()
				const minutes, most = 30, 24 // calls a minute, with the client's own repetitions of what failed
				r.pass(minutes * time.Minute)
				if calls := r.calls(); calls > most*minutes {
					r.Errorf("%d calls in %d minutes: %v", calls, minutes, r.emulator.Counters())
				}
				m.end(r)
				r.process.End()
				r.pass(2 * time.Minute) // for lists under way
			})
		})
	}
}
