package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// addTenant adds a workload with the same command in the namespace tenant, whose configuration names a server of the
// tenant. It returns the number of requests that this one gets.
func (r *rig) addTenant(change func(*appsv1.Deployment)) *atomic.Int64 {
	r.Helper()
	var requests atomic.Int64
	theirs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	r.Cleanup(theirs.Close)
	own := r.config
	r.config = func() string { return strings.ReplaceAll(own(), r.server.URL, theirs.URL) }
	for _, one := range r.workload() {
		one.(metav1.Object).SetNamespace("tenant")
		if deployment, is := one.(*appsv1.Deployment); is {
			change(deployment)
		}
		if err := r.cluster.Tracker().Add(one); err != nil {
			r.Fatal(err)
		}
	}
	r.config = own
	return &requests
}

// readOfTenant returns the requests for Secrets and ConfigMaps of the tenant since the last call.
func (r *rig) readOfTenant() []string {
	var read []string
	for _, action := range r.cluster.Actions() {
		if kind := action.GetResource().Resource; action.GetNamespace() == "tenant" &&
			slices.Contains([]string{"secrets", "configmaps"}, kind) {
			read = append(read, action.GetVerb()+" "+kind)
		}
	}
	r.cluster.ClearActions()
	return read
}

// reads are the commands that read the cloud with the configuration of the workload.
func reads() []string { return []string{"plan", "nodes", "top", "orphans", "doctor", "migrate"} }

// TestTenantBreaksNothing: a workload with the same command in another namespace, with and without ready pods, changes
// the result of no command.
func TestTenantBreaksNothing(t *testing.T) {
	r := newOrphanRig(t)
	r.healthy(everything)
	before := map[string]result{}
	for _, command := range reads() {
		before[command] = r.run(command, "-o", "name")
	}
	completed := r.run("__complete", "orphans", "delete", "").out
	requests := r.addTenant(func(d *appsv1.Deployment) { d.Spec.Replicas, d.Status.ReadyReplicas = new(int32), 0 })
	check := func() {
		t.Helper()
		for _, command := range reads() {
			want(r, command, r.run(command, "-o", "name"), before[command])
		}
		want(r, "completion", r.run("__complete", "orphans", "delete", "").out, completed)
		want(r, "requests to the tenant", requests.Load(), 0)
		want(r, "objects of the tenant that were read", strings.Join(r.readOfTenant(), ", "), "")
	}
	check()
	deployments := r.cluster.AppsV1().Deployments("tenant")
	theirs, err := deployments.Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theirs.Spec.Replicas, theirs.Status.ReadyReplicas = nil, 1
	if _, err := deployments.Update(t.Context(), theirs, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	check()
	wantText(r, "deletion", r.run("orphans", "delete", "--all", "--yes").out, "Deleted 1 of 1 orphan.")
}

// TestTenantRedirectsNobody: a workload that anybody can have made is used only after the answer of a person or with
// --ccm. Before that, nothing is sent to the addresses in its configuration, and nothing that it refers to is read.
func TestTenantRedirectsNobody(t *testing.T) {
	r := newRig(t)
	r.removeOwn()
	requests := r.addTenant(func(*appsv1.Deployment) {})
	none := func(what string) {
		t.Helper()
		want(r, "requests to the tenant: "+what, requests.Load(), 0)
		want(r, "objects of the tenant that were read: "+what, strings.Join(r.readOfTenant(), ", "), "")
	}
	const named = "pass --ccm=tenant/thalassa-ccm"
	for _, command := range []string{"plan", "nodes", "top", "orphans", "migrate", "orphans delete --all --yes"} {
		got := r.run(strings.Fields(command)...)
		wantText(r, command, got.err, "Deployment tenant/thalassa-ccm", named)
		want(r, command+": exit code", got.code, 1)
		none(command)
	}
	checks, code := r.doctor()
	r.requireCheck(checks, "workload", plugin.NotChecked, named)
	want(r, "exit code of doctor", code, 3)
	none("doctor")
	want(r, "completion", r.run("__complete", "orphans", "delete", "").out, ":4\n")
	none("completion")
	r.screen, r.answer = terminal.Terminal{Interactive: true}, "no\n"
	wantText(r, "the question", r.run("nodes").err, "Deployment tenant/thalassa-ccm", `Type "yes" to confirm:`, named)
	none("the answer no")
	// A file of this computer needs no workload, and takes no flag from this one.
	local := r.run("nodes", "--cloud-config="+r.file(r.inline(r.config())))
	wantText(r, "with --cloud-config", local.out, "2 Nodes")
	wantText(r, "the hint", local.err, "have their defaults", named)
	none("--cloud-config")
	r.answer = "yes\n"
	r.run("nodes")
	want(r, "the answer yes is followed", requests.Load() > 0, true)
	requests.Store(0)
	r.screen = terminal.Terminal{}
	r.run("nodes", "--ccm=tenant/thalassa-ccm")
	want(r, "--ccm is followed", requests.Load() > 0, true)
}

// TestTenantIsNoExistingProgram: nor does migrate use the configuration of what only looks like the existing program.
func TestTenantIsNoExistingProgram(t *testing.T) {
	looksLikeIt := func(d *appsv1.Deployment) {
		d.Name = "existing"
		container := &d.Spec.Template.Spec.Containers[0]
		container.Command, container.Image = nil, "registry.example/cloud-provider-thalassa:v0.12.0"
	}
	t.Run("alone", func(t *testing.T) {
		r := newRig(t)
		r.addService("web")
		r.removeOwn()
		requests := r.addTenant(looksLikeIt)
		got := r.run("migrate")
		wantText(r, "the error", got.err, "Deployment tenant/existing", "pass --ccm=tenant/existing")
		want(r, "requests to the tenant", requests.Load(), 0)
		want(r, "objects of the tenant that were read", strings.Join(r.readOfTenant(), ", "), "")
		r.run("migrate", "--ccm=tenant/existing")
		want(r, "--ccm is followed", requests.Load() > 0, true)
	})
	t.Run("with the existing program", func(t *testing.T) {
		r := newFormerRig(t)
		requests := r.addTenant(looksLikeIt)
		got := r.run("migrate")
		wantText(r, "the checks", got.out, "The existing Deployment kube-system/cloud-controller-manager runs",
			"Warning      existing: Deployment tenant/existing", "Ready")
		want(r, "a deletion is advised", strings.Contains(got.out, "--namespace tenant"), false)
		want(r, "requests to the tenant", requests.Load(), 0)
	})
	t.Run("with this program", func(t *testing.T) {
		r := newRig(t)
		r.addService("web", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
		requests := r.addTenant(looksLikeIt)
		wantText(r, "the checks", r.run("migrate").out, "Warning      existing: Deployment tenant/existing", "Ready")
		want(r, "requests to the tenant", requests.Load(), 0)
	})
}
