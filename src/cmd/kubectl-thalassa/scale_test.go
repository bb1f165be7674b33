package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
)

// addMany adds Services, each with a warning of its own, and Nodes, each with a problem of its own.
func (r *rig) addMany(services, nodes int) {
	r.Helper()
	add := func(object runtime.Object) {
		r.Helper()
		if err := r.cluster.Tracker().Add(object); err != nil {
			r.Fatal(err)
		}
	}
	for i := range services {
		name := fmt.Sprintf("many-%04d", i)
		meta := metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("0a1b2c3d-0000-0000-0000-" + name)}
		add(&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}}})
		add(&corev1.Event{ObjectMeta: meta, Type: corev1.EventTypeWarning, Reason: "SyncLoadBalancerFailed",
			Message:        "the cloud is busy with " + name,
			InvolvedObject: corev1.ObjectReference{Kind: "Service", Namespace: "shop", Name: name}})
	}
	for i := range nodes {
		add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("many-%04d", i)},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}}})
	}
}

// listed returns the number of lists of a kind of objects since the last call.
func (r *rig) listed(kind string) int {
	number := 0
	for _, action := range r.cluster.Actions() {
		if action.GetVerb() == "list" && action.GetResource().Resource == kind {
			number++
		}
	}
	r.cluster.ClearActions()
	return number
}

// calls counts the calls to the cloud.
func (r *rig) calls() *atomic.Int64 {
	var calls atomic.Int64
	count := func(*http.Request) { calls.Add(1) }
	r.onCall.Store(&count)
	return &calls
}

// TestDoctorOfALargeCluster: each kind of finding is one line with three names and a count, whatever else its messages
// contain. Events are listed once. The complete result is in JSON and with -o wide.
func TestDoctorOfALargeCluster(t *testing.T) {
	small := newRig(t)
	small.healthy(everything)
	before := strings.Count(small.run("doctor").out, "\n")
	r := newRig(t)
	r.healthy(everything)
	r.addMany(1500, 1001)
	r.cluster.ClearActions()
	calls := r.calls()
	shown := r.run("doctor").out
	want(r, "lists of events", r.listed("events"), 1)
	if number := calls.Load(); number > 30 {
		t.Errorf("%d calls to the cloud, want as many as for one Service", number)
	}
	wantText(r, "the Services", shown, "service/shop/many-0000, service/shop/many-0001, service/shop/many-0002 and "+
		"1497 more (-o wide names all): Writes to the cloud would bring it in line. For service/shop/many-0000: ",
		"The latest event is SyncLoadBalancerFailed: the cloud is busy with many-0000",
		"Next: For service/shop/many-0000: See kubectl thalassa plan -n shop many-0000.")
	wantText(r, "the Nodes", shown, "node/many-0000, node/many-0001, node/many-0002 and 998 more (-o wide names all): ")
	if lines := strings.Count(shown, "\n"); lines > before+12 {
		t.Errorf("%d lines, want few more than the %d of a small cluster:\n%s", lines, before, shown)
	}
	const inLine = " to the cloud would bring it in line."
	want(r, "Services with -o wide", strings.Count(r.run("doctor", "-o", "wide").out, inLine), 1500)
	checks, _ := r.doctor()
	services := 0
	for _, one := range checks {
		if one.ID == "service" && strings.Contains(one.Message, inLine) {
			services++
		}
	}
	want(r, "Services in JSON", services, 1500)
}

// TestCloudAway: a cloud that does not answer, or refuses all credentials, is one error of each command, after a few
// calls, whatever the number of Services.
func TestCloudAway(t *testing.T) {
	for name, test := range map[string]struct {
		effect   fault.Effect
		commands []string
		text     string
	}{
		"it answers with errors": {fault.Effect{Kind: fault.Refuse, Status: http.StatusBadGateway},
			[]string{"doctor"}, "cloud API unavailable (HTTP 502)"},
		"it knows no credentials": {fault.Effect{Kind: fault.Unauthorised},
			[]string{"plan", "doctor", "nodes", "orphans", "top", "migrate"}, "not permitted (HTTP 401)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.healthy(everything)
			r.addMany(1500, 0)
			if _, err := r.cloud.Inject(fault.Rule{Effect: test.effect}); err != nil {
				t.Fatal(err)
			}
			for _, command := range test.commands {
				calls := r.calls()
				got := r.run(command)
				want(r, command+": exit code", got.code, 1)
				want(r, command+": errors", strings.Count(got.out+got.err, test.text), 1)
				if number := calls.Load(); number > 8 {
					t.Errorf("%s: %d calls to the cloud, want few", command, number)
				}
			}
		})
	}
}

// TestListOfTheCloudFails: a list that all Services need is one error of the plan, too.
func TestListOfTheCloudFails(t *testing.T) {
	r := newRig(t)
	r.addMany(1500, 0)
	if _, err := r.cloud.Inject(fault.Rule{Operation: "GET /v1/loadbalancers",
		Effect: fault.Effect{Kind: fault.Forbidden}}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"plan", "top", "migrate"} {
		got := r.run(command)
		want(r, command+": exit code", got.code, 1)
		want(r, command+": errors", strings.Count(got.out+got.err, "HTTP 403"), 1)
	}
}

// TestIronCoreAway: the API of IronCore is asked once.
func TestIronCoreAway(t *testing.T) {
	r := newIronRig(t)
	r.healthy(everything)
	r.addMany(1500, 0)
	r.server.Close()
	checks, code := r.doctor("--timeout=1s") // it waits for the lists of IronCore until then
	want(r.rig, "exit code", code, 1)
	problems, reviews := 0, 0
	for _, one := range checks {
		if one.Status == plugin.CheckProblem && one.Section == "cloud" {
			problems++
			want(r.rig, "there is a next step", one.Next != "", true)
		}
		if one.ID == "cloud-access" {
			reviews++
		}
	}
	want(r.rig, "problems", problems, 1)
	want(r.rig, "answers about permissions", reviews, 1)
}

// TestUnauthorized: the one word of the API server about credentials that it does not accept has a next step.
func TestUnauthorized(t *testing.T) {
	for resource, commands := range map[string][]string{
		"deployments": {"plan", "nodes", "orphans", "top", "migrate", "doctor"},
		"services":    {"plan", "orphans", "top", "migrate", "doctor"},
		"nodes":       {"nodes", "doctor"},
	} {
		r := newRig(t)
		r.healthy(everything)
		r.refuse("list", resource, apierrors.NewUnauthorized("Unauthorized"))
		for _, command := range commands {
			got := r.run(command)
			wantText(r, command, strings.ToLower(got.out+got.err), "unauthorized", "log in to the cluster again")
			want(r, command+": exit code", got.code, 1)
		}
	}
}

// fullDisk is an output that takes nothing.
type fullDisk struct{}

// Write implements io.Writer.
func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullOutput: no command and no format succeeds if its result cannot be written.
func TestFullOutput(t *testing.T) {
	r := newOrphanRig(t)
	r.healthy(everything)
	r.full = fullDisk{}
	for _, command := range []string{"plan", "plan --exit-code", "doctor", "nodes", "orphans", "top", "migrate"} {
		for _, format := range []string{"", "wide", "json", "yaml"} {
			r.wantFull(append(strings.Fields(command), "-o", format)...)
		}
	}
	for _, command := range []string{"nodes", "orphans", "top"} { // the others have no names to write
		r.wantFull(command, "-o", "name")
	}
	for _, line := range []string{"version", "help", "plan --help", "completion bash"} {
		r.wantFull(strings.Fields(line)...)
	}
	r.wantFull("__complete", "nodes", "")
	r.wantFull("orphans", "delete", "--all", "--yes")
}

// wantFull checks that a command fails because its result cannot be written.
func (r *rig) wantFull(args ...string) {
	r.Helper()
	got := r.run(args...)
	want(r, strings.Join(args, " ")+": exit code", got.code, 1)
	wantText(r, strings.Join(args, " "), got.err, "Error: writing the result: "+syscall.ENOSPC.Error())
}
