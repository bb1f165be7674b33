package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// UIDs of the Services that the tests delete.
const uidOld, uidKept = "0a1b2c3d-0000-0000-0000-old", "0a1b2c3d-0000-0000-0000-kept"

// newOrphanRig returns a cluster with the Services a, b and c, and the objects of the Service old, which was deleted
// without its load balancer.
func newOrphanRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	for _, name := range []string{"a", "b", "c", "old"} {
		r.addService(name)
	}
	r.reconcile()
	r.deleteService("old")
	r.wrote()
	return r
}

// deleteService deletes a Service, without its finalizer.
func (r *rig) deleteService(name string) {
	r.Helper()
	if err := r.cluster.CoreV1().Services("shop").Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

// balancers returns the names of all load balancers in the cloud, sorted.
func (r *rig) balancers() []string {
	r.Helper()
	all, err := r.api().ListLoadbalancers(r.Context(), &iaas.ListLoadbalancersRequest{})
	if err != nil {
		r.Fatal(err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

// TestOrphans: only objects whose Service does not exist are shown, and nothing is written.
func TestOrphans(t *testing.T) {
	r := newOrphanRig(t)
	other := "other.example/class"
	r.changeService("a", func(s *corev1.Service) { s.Spec.LoadBalancerClass = &other })
	r.wrote()
	shown := r.run("orphans")
	wantText(r, "the table", shown.out, "SERVICE", "shop/old", uidOld, "1 load balancer, 1 target group",
		"removeOrphans is off", "kubectl thalassa orphans delete UID")
	want(r, "a Service of another class is shown", strings.Contains(shown.out, "shop/a"), false)
	want(r, "exit code", shown.code, 0)
	want(r, "names", r.run("orphans", "-o", "name").out, uidOld+"\n")
	wantText(r, "with -o wide", r.run("orphans", "-o", "wide").out, "load balancer a0a1b2c3d", "ready")
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	var got plugin.Orphans
	decoder := json.NewDecoder(strings.NewReader(r.run("orphans", "-o", "json").out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want(r, "kind", got.Kind, "Orphans")
	want(r, "objects", len(got.Orphans[0].Objects), 2)
	for _, width := range []int{80, 200} {
		r.screen = terminal.Terminal{Width: width}
		narrow, wide := r.run("orphans").out, r.run("orphans", "-o", "wide").out
		wantWidth(r, narrow+wide, width)
		wantText(r, "the UID, to copy", narrow, uidOld)
		for _, one := range got.Orphans[0].Objects {
			wantText(r, "an object, with -o wide", wide, "  - "+one.Kind+" "+one.Name, "("+one.Identity+")")
			want(r, "the identity is shown without -o wide", strings.Contains(narrow, one.Identity), false)
		}
	}
}

// wantWidth checks that all lines fit a width.
func wantWidth(r *rig, text string, width int) {
	r.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if len([]rune(line)) > width {
			r.Errorf("a line of %d characters at width %d: %s", len([]rune(line)), width, line)
		}
	}
}

// TestDeleteOrphans: after the confirmation, all objects of the orphan are deleted, and no others.
func TestDeleteOrphans(t *testing.T) {
	r := newOrphanRig(t)
	wantText(r, "without arguments", r.run("orphans", "delete").err, "name the orphans by their UIDs", "--all")
	wantText(r, "without a terminal", r.run("orphans", "delete", uidOld).err, "shop/old", "pass --yes")
	wantText(r, "an unknown UID", r.run("orphans", "delete", "nope", "--yes").err, "no orphan has the UID nope")
	r.screen, r.answer = terminal.Terminal{Interactive: true, Steps: true, Width: 120}, "no\n"
	refused := r.run("orphans", "delete", "--all")
	wantText(r, "another answer", refused.err, `Type "delete" to confirm:`, "nothing is deleted")
	want(r, "exit code", refused.code, 1)
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	before := r.balancers()
	r.answer = "delete\n"
	deleted := r.run("orphans", "delete", "--all")
	wantText(r, "the result", deleted.out, "shop/old ("+uidOld+"): deleted", "Deleted 1 of 1 orphan.")
	wantText(r, "progress", deleted.err, "Deleting shop/old (1 of 1)")
	want(r, "exit code", deleted.code, 0)
	for _, write := range r.wrote() {
		want(r, "deletes: "+write, strings.HasPrefix(write, "DELETE "), true)
	}
	want(r, "load balancers", len(r.balancers()), len(before)-1)
	wantText(r, "afterwards", r.run("orphans").out, "Every object of this cluster in the cloud belongs to a Service.")
	want(r, "nothing to delete", r.run("orphans", "delete", "--all").err != "", true)
}

// TestOrphansOfOneNamespace: --namespace limits what is shown, and what is deleted.
func TestOrphansOfOneNamespace(t *testing.T) {
	r := newOrphanRig(t)
	wantText(r, "of another namespace", r.run("orphans", "-n", "other").out, "No orphan is of the namespace other.")
	wantText(r, "of its namespace", r.run("orphans", "-n", "shop").out, uidOld)
	wantText(r, "of all", r.run("orphans", "-n", "other", "-A").out, uidOld)
	all := r.run("orphans", "delete", "--all", "--yes", "-n", "other")
	wantText(r, "all of another namespace", all.err, "There is nothing to delete.")
	one := r.run("orphans", "delete", uidOld, "--yes", "-n", "other")
	wantText(r, "one of another namespace", one.err, "no orphan of the namespace other has the UID "+uidOld)
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	deleted := r.run("orphans", "delete", "--all", "--yes", "-n", "shop")
	wantText(r, "all of its namespace", deleted.out, "Deleted 1 of 1 orphan.")
	wantText(r, "the log of writes", deleted.err, `"Cloud write" request="DELETE /v1/loadbalancers/{id}"`,
		`cause="Service shop/old: delete load balancer`)
	want(r, "lines of the log", strings.Count(deleted.err, `"Cloud write"`), len(r.wrote()))
}

// TestDeleteOrphansByOtherWorkload: a workload in another namespace than kube-system is read if its account may do what
// a cloud controller manager does, but nothing is deleted with its configuration until the user names it.
func TestDeleteOrphansByOtherWorkload(t *testing.T) {
	r := newOrphanRig(t)
	r.removeOwn()
	r.healthy(everything)
	r.wrote()
	for _, one := range r.workload() {
		one.(metav1.Object).SetNamespace("shop")
		if err := r.cluster.Tracker().Add(one); err != nil {
			t.Fatal(err)
		}
	}
	wantText(r, "reading", r.run("orphans").err, "Using Deployment shop/thalassa-ccm.")
	refused := r.run("orphans", "delete", "--all", "--yes")
	wantText(r, "deleting", refused.err, "Deployment shop/thalassa-ccm, which is not in the namespace kube-system",
		"pass --ccm=shop/thalassa-ccm")
	want(r, "exit code", refused.code, 1)
	for _, write := range r.wrote() {
		t.Errorf("written: %s", write)
	}
	named := r.run("orphans", "delete", "--all", "--yes", "--ccm=shop/thalassa-ccm")
	wantText(r, "deleting with its name", named.out, "Deleted 1 of 1 orphan.")
}

// TestDeleteOrphansOfWrongCluster: if most objects are orphans, nothing is deleted without --force.
func TestDeleteOrphansOfWrongCluster(t *testing.T) {
	r := newOrphanRig(t)
	for _, name := range []string{"a", "b"} {
		r.deleteService(name)
	}
	r.wrote()
	wantText(r, "the table", r.run("orphans").out, "Check that this is the right cluster")
	got := r.run("orphans", "delete", "--all", "--yes")
	wantText(r, "the error", got.err, "Check that this is the right cluster", "--force")
	want(r, "exit code", got.code, 1)
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	wantText(r, "with --force", r.run("orphans", "delete", "--all", "--yes", "--force").out, "Deleted 3 of 3 orphans.")
}

// TestDeleteProtectedOrphan: what the cloud protects is reported, the rest is deleted, and the exit code is 1.
func TestDeleteProtectedOrphan(t *testing.T) {
	r := newOrphanRig(t)
	r.changeBalancer("a0a1b2c3d000000000000old", func(u *iaas.UpdateLoadbalancer) { u.DeleteProtection = true })
	r.deleteService("c")
	got := r.run("orphans", "delete", "--all", "--yes", "--force", "-o", "wide")
	wantText(r, "the objects, with -o wide", got.out, "  - load balancer a0a1b2c3d000000000000old (lb-",
		"  - target group a0a1b2c3d000000000000c-http (tg-")
	wantText(r, "the result", got.out, "shop/c (", "): deleted", "not deleted: ", "delete", "Deleted 1 of 2 orphans.")
	want(r, "exit code", got.code, 1)
}

// TestDeleteKeptOrphans: retained load balancers, and those without labels, need a UID and a flag.
func TestDeleteKeptOrphans(t *testing.T) {
	r := newOrphanRig(t)
	r.addService("kept", func(s *corev1.Service) {
		s.Annotations = map[string]string{"loadbalancer.k8s.thalassa.cloud/on-delete": "keep"}
	})
	r.reconcile()
	r.deleteService("kept")
	r.changeBalancer("a0a1b2c3d000000000000old", func(u *iaas.UpdateLoadbalancer) {
		u.Labels = iaas.Labels{"by": "hand"}
	})
	r.wrote()
	wantText(r, "the table", r.run("orphans").out, "retained by its deletion policy", "an object lost labels")
	wantText(r, "with --all", r.run("orphans", "delete", "--all", "--yes").err, "There is nothing to delete.")
	wantText(r, "without the flags", r.run("orphans", "delete", uidKept, uidOld, "--yes").err, "--retained",
		"--unlabelled")
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	got := r.run("orphans", "delete", uidKept, uidOld, "--yes", "--retained", "--unlabelled")
	wantText(r, "with the flags", got.out, "Deleted 2 of 2 orphans.")
	want(r, "load balancers", len(r.balancers()), 3)
}

// TestDeleteOrphanThatIsBack: the API server is asked before the deletion, whatever was listed before.
func TestDeleteOrphanThatIsBack(t *testing.T) {
	r := newOrphanRig(t)
	r.screen = terminal.Terminal{Interactive: true, Width: 120}
	r.answer, r.onAnswer = "delete\n", func() { r.addService("old") }
	got := r.run("orphans", "delete", uidOld)
	wantText(r, "the result", got.out, "not deleted: the Service exists", "Deleted 0 of 1 orphan.")
	want(r, "exit code", got.code, 1)
	want(r, "load balancers", len(r.balancers()), 4)
}
