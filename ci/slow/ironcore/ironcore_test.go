package ironcore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/ci/rbactest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
)

// TestIronCore lets the program do everything that it can do with IronCore, whoever chooses the destinations of load
// balancers, also while each request fails several times, and compares what it may do with what it did.
func TestIronCore(t *testing.T) {
	plane := controlplanetest.Own(t)
	if err := ironcorelab.Serve(t.Context(), plane, ""); err != nil {
		t.Fatal(err)
	}
	namespaces := map[string]bool{}
	for _, selector := range []bool{false, true} {
		for _, faulty := range []bool{false, true} {
			t.Run(fmt.Sprintf("selector %t, faults %t", selector, faulty), func(t *testing.T) {
				r := newRig(t, plane)
				r.faulty = faulty
				namespaces[r.namespace] = true
				r.play(selector)
			})
		}
	}
	if !t.Failed() {
		judge(t, plane, namespaces)
	}
}

// play lets a cluster live.
func (r *rig) play(selector bool) {
	stop := r.start(selector)
	if r.faulty {
		defer r.faults.wantAll()
	}
	r.eventually("the program is ready", r.ready)
	r.addMachine("a", 1)
	r.addNode("a")
	r.addNode("b")
	r.eventually("the first Node is initialised", r.initialised("a", "10.0.0.1"))
	r.addLateInterface()
	r.reacts("an available network interface", reaction, r.available("b"), r.initialised("b", "10.0.0.2"))
	r.eventually("pods are routed", r.routed("a"))
	r.eventually("pods are routed", r.routed("b"))

	public := r.serve("public", nil)
	r.reacts("an address", reaction, r.addressed(public), r.shown("public", public))
	internal := r.serve("internal", map[string]string{
		"service.beta.kubernetes.io/ironcore-load-balancer-internal": "true"})
	r.eventually("an internal load balancer has an address", r.shown("internal", internal))
	r.eventually("it is one of the Prefix", r.isInternal(internal))
	for _, balancer := range []string{public, internal} {
		r.eventually("traffic is sent to all machines", r.sends(balancer, "a", "b"))
	}
	r.power()
	r.outage(public)
	lost := r.serve("lost", nil)
	r.eventually("a load balancer has an address", r.shown("lost", lost))
	stop() // a program deletes one Node soon after its start, and not more
	r.deleteByHand("lost", lost)
	stop = r.start(selector)
	r.eventually("the program is ready again", r.ready)
	r.eventually("the Service without a load balancer is gone", r.withoutService("lost"))
	r.remove(public, internal)
	stop()
}

func (r *rig) isInternal(balancer string) func(context.Context) error {
	return func(ctx context.Context) error {
		lb, err := r.balancer(ctx, balancer)
		return errors.Join(err, equal("type", lb.Spec.Type, networkingv1alpha1.LoadBalancerTypeInternal),
			equal("in the Prefix", strings.HasPrefix(lb.Status.IPs[0].String(), "10.9.0."), true))
	}
}

// addLateInterface adds a machine whose network interface exists only when the program has looked for it.
func (r *rig) addLateInterface() {
	machine := r.machine("b", 2)
	machine.Interface = interfaceOf("b")
	r.must(r.lab.AddPool(r.Context(), machine))
	object := machine.WithDefaults(network).Object(r.namespace)
	_, err := r.lab.Client().ComputeV1alpha1().Machines(r.namespace).Create(r.Context(), object, metav1.CreateOptions{})
	r.must(err)
	r.eventually("the program looks for the network interface", func(context.Context) error {
		requests, err := rbactest.Requests(r.plane.AuditLog(), 0)
		return errors.Join(err, equal("request", slices.ContainsFunc(requests, func(request rbactest.Request) bool {
			return request.User == user && request.Verb == "get" && request.Resource == "networkinterfaces" &&
				request.Namespace == r.namespace
		}), true))
	})
	r.must(r.lab.AddMachine(r.Context(), machine))
}

// power stops and starts a machine.
func (r *rig) power() {
	r.setReady("b", corev1.ConditionUnknown)
	r.must(r.lab.SetPower(r.Context(), "b", computev1alpha1.PowerOff))
	r.reacts("a machine that is shut down", reaction, r.inState("b", computev1alpha1.MachineStateShutdown),
		r.hasTaint("b", true))
	r.must(r.lab.SetPower(r.Context(), "b", computev1alpha1.PowerOn))
	r.reacts("a machine that runs", reaction, r.inState("b", computev1alpha1.MachineStateRunning),
		r.hasTaint("b", false))
	r.setReady("b", corev1.ConditionTrue)
}

// afterOutage is how soon a Service of an outage has its load balancer once the outage ends.
const afterOutage = 10 * time.Second

// outage makes IronCore unreachable. Meanwhile, nothing is deleted; afterwards, everything is as it should be, and a
// Service that was created meanwhile soon has a load balancer.
func (r *rig) outage(balancer string) {
	before, err := r.names(r.Context())
	r.must(err)
	r.road.close()
	r.eventually("the program is not ready", func(ctx context.Context) error {
		return equal("not ready", errors.Is(r.ready(ctx), errNotReady), true)
	})
	r.setReady("b", corev1.ConditionUnknown)
	r.must(r.lab.DeleteMachine(r.Context(), "b"))
	r.eventually("a machine is gone", r.machineMissing("b"))
	_, err = r.cluster.CoreV1().Services(r.services).Patch(r.Context(), "public", types.JSONPatchType,
		[]byte(`[{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]`), metav1.PatchOptions{})
	r.must(err)
	late := r.serve("late", nil)
	refused := r.road.refused.Load()
	r.eventually("the program has tried again", func(context.Context) error {
		return equal("some attempts", r.road.refused.Load() >= refused+5, true)
	})
	during, err := r.names(r.Context())
	r.must(err)
	if during != before {
		r.Errorf("without IronCore, there is %q, and before was %q", during, before)
	}
	r.road.reopen()
	open := func(context.Context) error { return nil }
	r.reacts("a Service of the outage", afterOutage+provision+reaction, open, r.shown("late", late))
	r.must(r.cluster.CoreV1().Services(r.services).Delete(r.Context(), "late", metav1.DeleteOptions{}))
	r.eventually("the program is ready", r.ready)
	r.eventually("the Node of the deleted machine is deleted", r.missing("b"))
	r.eventually("the port is changed", func(ctx context.Context) error {
		lb, err := r.balancer(ctx, balancer)
		return errors.Join(err, equal("port", lb.Spec.Ports[0].Port, 81))
	})
	r.eventually("the address stays", r.shown("public", balancer))
	r.eventually("traffic is sent to the machine", r.sends(balancer, "a"))
}

// deleteByHand deletes a load balancer in IronCore, and its Service, while no program runs: the next one has never seen
// the load balancer, and reads it before it releases the Service.
func (r *rig) deleteByHand(service, balancer string) {
	networking := r.lab.Client().NetworkingV1alpha1()
	r.must(networking.LoadBalancerRoutings(r.namespace).Delete(r.Context(), balancer, metav1.DeleteOptions{}))
	r.must(networking.LoadBalancers(r.namespace).Delete(r.Context(), balancer, metav1.DeleteOptions{}))
	r.eventually("a load balancer that was deleted by hand is gone", r.withoutBalancer(balancer))
	r.must(r.cluster.CoreV1().Services(r.services).Delete(r.Context(), service, metav1.DeleteOptions{}))
}

func (r *rig) withoutBalancer(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := r.balancer(ctx, name)
		routings := r.lab.Client().NetworkingV1alpha1().LoadBalancerRoutings(r.namespace)
		_, routingErr := routings.Get(ctx, name, metav1.GetOptions{})
		return errors.Join(equal("load balancer is gone", apierrors.IsNotFound(err), true),
			equal("routing is gone", apierrors.IsNotFound(routingErr), true))
	}
}

func (r *rig) withoutService(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := r.cluster.CoreV1().Services(r.services).Get(ctx, name, metav1.GetOptions{})
		return equal("Service is gone", apierrors.IsNotFound(err), true)
	}
}

// remove deletes everything in the cluster. The last machine stays until the end: without any, no Node is deleted. The
// machine b referred to its network interface, which was not deleted with it.
func (r *rig) remove(balancers ...string) {
	r.must(r.lab.Client().NetworkingV1alpha1().NetworkInterfaces(r.namespace).Delete(r.Context(), interfaceOf("b"),
		metav1.DeleteOptions{}))
	for _, service := range []string{"public", "internal"} {
		r.must(r.cluster.CoreV1().Services(r.services).Delete(r.Context(), service, metav1.DeleteOptions{}))
	}
	for _, name := range balancers {
		r.eventually("a load balancer and its routing are gone", r.withoutBalancer(name))
	}
	r.eventually("the Services are gone", func(ctx context.Context) error {
		services, err := r.cluster.CoreV1().Services(r.services).List(ctx, metav1.ListOptions{})
		return errors.Join(err, equal("Services", len(services.Items), 0))
	})
	r.setReady("a", corev1.ConditionUnknown)
	r.addMachine("last", 9)
	r.addNode("last")
	r.eventually("a Node is added", r.initialised("last", "10.0.0.9"))
	r.must(r.lab.DeleteMachine(r.Context(), "a"))
	// The Node stays for the grace period of a second, and is then looked up once more.
	r.reacts("a deleted machine", time.Second+reaction, r.machineMissing("a"), r.missing("a"))
	r.must(r.cluster.CoreV1().Nodes().Delete(r.Context(), "last", metav1.DeleteOptions{}))
	r.must(r.lab.DeleteMachine(r.Context(), "last"))
	r.eventually("nothing is left in IronCore", func(ctx context.Context) error {
		nics, err := r.lab.Client().NetworkingV1alpha1().NetworkInterfaces(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		prefixes, err := r.lab.Client().IpamV1alpha1().Prefixes(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return errors.Join(equal("network interfaces", len(nics.Items), 0),
			equal("Prefixes beside the parent", len(prefixes.Items), 1))
	})
}

// sameNamespace stands for all namespaces in comparisons of permissions.
const sameNamespace = "cluster"

// judge compares what the user of the program may do in IronCore with what it did, in these namespaces.
func judge(t *testing.T, plane *controlplane.ControlPlane, namespaces map[string]bool) {
	t.Helper()
	requests, err := rbactest.Requests(plane.AuditLog(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var done []rbactest.Permission
	for _, request := range requests {
		another := request.Namespace != "" && !namespaces[request.Namespace]
		if request.User != user || request.Resource == "" || another {
			continue
		}
		if request.Namespace != "" {
			request.Namespace = sameNamespace
		}
		request.Name = ""
		done = append(done, request.Permission)
		if request.Created {
			request.Verb = "create"
			done = append(done, request.Permission)
		}
		if !request.Allowed {
			t.Errorf("forbidden: %s", request.Permission)
		}
	}
	unused, missing := rbactest.Compare(granted(t), done)
	for _, p := range unused {
		if p.Verb == "create" && p.Resource == "loadbalancerroutings" {
			continue // the program needs it if it is faster than IronCore's controller, which also creates them
		}
		t.Errorf("granted and not used: %s", p)
	}
	for _, p := range missing {
		t.Errorf("used and not granted: %s", p)
	}
}
