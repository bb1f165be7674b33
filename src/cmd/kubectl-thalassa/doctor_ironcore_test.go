package main

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
)

// TestNodesOnIronCore: each Node is shown with its machine, and nothing is written.
func TestNodesOnIronCore(t *testing.T) {
	r := newIronRig(t)
	r.ready(corev1.ConditionTrue, "a")
	r.ready(corev1.ConditionUnknown, "b")
	r.iron.DeleteMachine("b")
	r.wrote()
	shown := r.run("nodes")
	want(r.rig, "exit code", shown.code, 1)
	wantText(r.rig, "the Nodes", shown.out, "shoot/a", "running", "gone", "Node b\n", "MachineGone: Its machine does "+
		"not exist.",
		"2 Nodes, 1 ready, 1 with problems.")
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
}

// TestDoctorOnIronCore: the API of IronCore is asked about each permission, and nothing is written.
func TestDoctorOnIronCore(t *testing.T) {
	r := newIronRig(t)
	r.addService("web")
	r.reconcile()
	r.healthy(everything)
	r.wrote()
	shown := r.run("doctor")
	want(r.rig, "exit code", shown.code, 0)
	wantText(r.rig, "the checks", shown.out, "valid, for the cloud ironcore.",
		"get, list, patch, watch machines.compute.ironcore.dev: It is permitted.", "2 Nodes, 2 ready",
		"1 Service with a load balancer, 1 in sync.", "\n0 problems, 0 warnings, ")
	want(r.rig, "writes", strings.Join(r.wrote(), ", "), "")
	r.iron.Fail(func(request simulator.Request) *metav1.Status {
		if request.Resource == "machines" && request.Verb == "watch" {
			return &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}
		}
		return nil
	})
	checks, code := r.doctor()
	want(r.rig, "exit code without a permission", code, 1)
	r.requireCheck(checks, "cloud-access", plugin.CheckProblem, "may not watch machines.compute.ironcore.dev in "+
		"namespace shoot")
	r.requireCheck(checks, "nodes", plugin.NotChecked, "the cloud cannot be read")
}
