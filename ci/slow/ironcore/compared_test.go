package ironcore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/ci/rbactest"
	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
)

// clusterSize is the size of the cluster in the documentation's comparison: so many Nodes, and so many Services.
const clusterSize = 10

// TestComparedWithTheExistingProgram measures the work that the documentation compares with cloud-provider-ironcore, as
// the API server of IronCore counts it, and that load balancers of that program keep their addresses without a write:
// when this program takes over, and when the existing one is back.
func TestComparedWithTheExistingProgram(t *testing.T) {
	plane := controlplanetest.Own(t)
	if err := ironcorelab.Serve(t.Context(), plane, ""); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, plane)
	r.unrouted = true
	for i := range clusterSize {
		r.joins(i)
	}
	stop := r.start(true)
	r.eventually("the program is ready", r.ready)
	r.costs("start", nil, r.labelled(clusterSize))
	var names []string
	r.costs("create", func() {
		for i := range clusterSize {
			names = append(names, r.serve(fmt.Sprintf("web-%d", i), nil))
		}
	}, func(ctx context.Context) error { return r.allShown(ctx, names) })
	r.costs("port", func() { r.setPort("web-0", 81) }, r.hasPort(names[0], 81))
	r.costs("join", func() { r.joins(clusterSize) }, r.labelled(clusterSize+1))
	leaving := machineName(clusterSize)
	r.costs("leave", func() {
		r.setReady(leaving, corev1.ConditionUnknown)
		r.must(r.lab.DeleteMachine(r.Context(), leaving))
	}, r.missing(leaving))
	before := r.balancers()
	r.costs("restart", func() {
		stop()
		r.giveBack(names)
		stop = r.start(true)
	}, r.ready)
	if after := r.balancers(); after != before {
		t.Errorf("after the existing program and this one again, the load balancers are\n%s\nand were\n%s", after,
			before)
	}
	r.must(r.allShown(t.Context(), names))
	r.costs("delete", func() {
		for i := range clusterSize {
			r.must(r.cluster.CoreV1().Services(r.services).Delete(t.Context(), fmt.Sprintf("web-%d", i),
				metav1.DeleteOptions{}))
		}
	}, func(ctx context.Context) error {
		left, err := r.cluster.CoreV1().Services(r.services).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return equal("Services", len(left.Items), 0)
	})
	stop()
}

func machineName(i int) string { return fmt.Sprintf("node-%d", i) }

// joins adds a machine and its Node.
func (r *rig) joins(i int) {
	r.Helper()
	machine := r.machine(machineName(i), 0)
	machine.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 1, byte(i + 1)})}
	r.must(r.lab.AddMachine(r.Context(), machine))
	r.addNode(machineName(i))
}

// costs does some work, waits until it is done and nothing is requested any more, and checks how many requests to
// IronCore it needed, without watches and those of other programs.
func (r *rig) costs(work string, do func(), done func(context.Context) error) {
	r.Helper()
	if do != nil {
		do()
	}
	r.eventually(work+" is done", done)
	spent := r.spent()
	for began := time.Now(); time.Since(began) < 3*time.Second; { // a Node that left stays for a second
		if now := r.spent(); len(now) != len(spent) {
			spent, began = now, time.Now()
		}
		<-time.After(100 * time.Millisecond)
	}
	spent = spent[r.counted:]
	r.counted += len(spent)
	b, err := budget.Named("ironcore-ten-" + work)
	r.must(err)
	r.Logf("%s: %d requests, at most %v", b.Name, len(spent), b.Limit)
	if !b.Kept(float64(len(spent))) {
		r.Errorf("%s: %d requests, at most %v:\n%s", b.Name, len(spent), b.Limit, strings.Join(spent, "\n"))
	}
}

// spent returns the requests of the program so far.
func (r *rig) spent() (all []string) {
	r.Helper()
	requests, err := rbactest.Requests(r.plane.AuditLog(), 0)
	r.must(err)
	for _, one := range requests {
		if one.User == user && one.Resource != "" && one.Verb != "watch" {
			all = append(all, one.Verb+" "+one.Resource+" "+one.Name)
		}
	}
	return all
}

// labelled returns an error unless so many network interfaces have the label of the cluster, and their Nodes are
// initialised.
func (r *rig) labelled(count int) func(context.Context) error {
	return func(ctx context.Context) error {
		nics, err := r.lab.Client().NetworkingV1alpha1().NetworkInterfaces(r.namespace).List(ctx,
			metav1.ListOptions{LabelSelector: "kubernetes.io/cluster=blue"})
		if err != nil {
			return err
		}
		nodes, err := r.cluster.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		initialised := slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool { return n.Spec.ProviderID == "" })
		if err := equal("network interfaces", len(nics.Items), count); err != nil {
			return err
		}
		return equal("Nodes", len(initialised), count)
	}
}

func (r *rig) allShown(ctx context.Context, balancers []string) error {
	for i, name := range balancers {
		if err := r.shown(fmt.Sprintf("web-%d", i), name)(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) setPort(service string, port int) {
	r.Helper()
	_, err := r.cluster.CoreV1().Services(r.services).Patch(r.Context(), service, types.JSONPatchType,
		fmt.Appendf(nil, `[{"op": "replace", "path": "/spec/ports/0/port", "value": %d}]`, port), metav1.PatchOptions{})
	r.must(err)
}

func (r *rig) hasPort(balancer string, port int32) func(context.Context) error {
	return func(ctx context.Context) error {
		lb, err := r.balancer(ctx, balancer)
		if err != nil {
			return err
		}
		return equal("port", lb.Spec.Ports[0].Port, port)
	}
}

// balancers returns names, addresses and specifications of all load balancers.
func (r *rig) balancers() string {
	r.Helper()
	all, err := r.lab.Client().NetworkingV1alpha1().LoadBalancers(r.namespace).List(r.Context(), metav1.ListOptions{})
	r.must(err)
	var text strings.Builder
	for _, one := range all.Items {
		spec, err := json.Marshal(one.Spec)
		r.must(err)
		fmt.Fprintln(&text, one.Name, one.UID, one.Status.IPs, string(spec))
	}
	return text.String()
}

// giveBack writes load balancers as the existing program does when it starts: with server-side apply, and all fields.
func (r *rig) giveBack(balancers []string) {
	r.Helper()
	force := true
	for _, name := range balancers {
		existing, err := r.balancer(r.Context(), name)
		r.must(err)
		body, err := json.Marshal(map[string]any{
			"apiVersion": networkingv1alpha1.SchemeGroupVersion.String(), "kind": "LoadBalancer",
			"metadata": map[string]any{"name": name, "annotations": existing.Annotations}, "spec": existing.Spec,
		})
		r.must(err)
		_, err = r.lab.Client().NetworkingV1alpha1().LoadBalancers(r.namespace).Patch(r.Context(), name,
			types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "cloud-provider.ironcore.dev/loadbalancer",
				Force: &force})
		r.must(err)
	}
}
