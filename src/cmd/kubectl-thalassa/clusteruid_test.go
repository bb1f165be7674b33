package main

import (
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// TestOrphansInDoubt: an orphan without the UID of this cluster, whose targets are running machines that are no Nodes
// here, may be another cluster's. It is shown, and is not deleted without --force.
func TestOrphansInDoubt(t *testing.T) {
	r := newOrphanRig(t)
	if err := r.cluster.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.wrote()
	wantText(r, "the table", r.run("orphans").out, uidOld, "it may be another cluster's")
	for _, chosen := range []string{"--all", uidOld} {
		refused := r.run("orphans", "delete", chosen, "--yes")
		wantText(r, "with "+chosen, refused.err, uidOld, "no Nodes of this one", "--force")
		want(r, "exit code", refused.code, 1)
	}
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	wantText(r, "with --force", r.run("orphans", "delete", "--all", "--yes", "--force").out, "Deleted 1 of 1 orphan.")
}

// TestOrphansWithoutTheUID: a user who may not read the UID of the cluster cannot delete orphans without --force.
func TestOrphansWithoutTheUID(t *testing.T) {
	r := newOrphanRig(t)
	if err := r.cluster.CoreV1().Namespaces().Delete(t.Context(), "kube-system", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	refused := r.run("orphans", "delete", uidOld, "--yes")
	wantText(r, "the error", refused.err, "the UID of this cluster is not known", "--force")
	checks, _ := r.doctor()
	r.requireCheck(checks, "cluster-uid", plugin.NotChecked, "UID of this cluster is not known")
}

// TestForeignObjects: what has the UID of another cluster is no orphan, is not deleted, and is a finding of doctor.
func TestForeignObjects(t *testing.T) {
	r := newOrphanRig(t)
	r.healthy(everything)
	checks, _ := r.doctor()
	r.requireCheck(checks, "cluster-uid", plugin.CheckOK, "has the UID of another one")
	for _, name := range r.balancers() {
		r.changeBalancer(name, func(update *iaas.UpdateLoadbalancer) {
			update.Annotations = iaas.Annotations{label.ClusterUID: "0a1b2c3d-0000-4000-8000-0000000009ee"}
		})
	}
	r.wrote()
	shown := r.run("orphans", "-o", "wide").out
	want(r, "a load balancer is an orphan", strings.Contains(shown, "load balancer"), false)
	r.run("orphans", "delete", "--all", "--yes", "--force")
	want(r, "load balancers", len(r.balancers()), 4)
	checks, _ = r.doctor()
	r.requireCheck(checks, "cluster-uid", plugin.CheckProblem, "the cluster 0a1b2c3d-0000-4000-8000-0000000009ee")
}
