package ironcore

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// api returns a client of another program.
func (r *rig) api() *client.Client {
	r.Helper()
	api, err := client.New(r.server.Config(), testNamespace)
	if err != nil {
		r.Fatal(err)
	}
	return api
}

// editOptions are those of a person.
func editOptions() metav1.PatchOptions { return metav1.PatchOptions{FieldManager: "kubectl-edit"} }

// edit changes the load balancer of the Service as a person does.
func (r *rig) edit(change string) {
	r.Helper()
	_, err := r.api().LoadBalancers.Patch(r.ctx, serviceName, types.MergePatchType, []byte(change), editOptions())
	if err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// editRouting changes its destinations.
func (r *rig) editRouting(change string) {
	r.Helper()
	_, err := r.api().LoadBalancerRoutings.Patch(r.ctx, serviceName, types.MergePatchType, []byte(change),
		editOptions())
	if err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// eachOwner runs a test with a load balancer of this program, and with one that the former program has applied.
func eachOwner(t *testing.T, test func(r *rig, c *Cloud)) {
	t.Helper()
	for name, handOver := range map[string]bool{"own": false, "handed over": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a")
				if handOver {
					r.former().ensure(serviceName, service(), "a")
				}
				c := r.start()
				r.reconcile(c, service(), "a")
				pass(time.Minute)
				test(r, c)
			})
		})
	}
}

// TestForeignFieldManager: a field that a person has set is not overwritten. The refusal names who has set which field.
func TestForeignFieldManager(t *testing.T) {
	eachOwner(t, func(r *rig, c *Cloud) {
		destinations := r.destinationsJSON()
		for _, one := range []struct {
			set           func(change string)
			change, field string
			back          string // sets the field back
		}{
			{r.edit, `{"spec":{"ports":[{"port":8080,"protocol":"TCP"}]}}`, "spec.ports",
				`{"spec":{"ports":[{"port":80,"protocol":"TCP"}]}}`},
			{r.edit, `{"metadata":{"annotations":{"service-name":"another"}}}`, label.ServiceName,
				`{"metadata":{"annotations":{"service-name":"web"}}}`},
			{r.editRouting, `{"destinations":[]}`, "destinations", destinations},
		} {
			one.set(one.change)
			found := r.diff(c, service(), "a")
			want(r, "plan", found.Plan.String(), "")
			wantError(r, "refusal", found.Refused, "kubectl-edit", one.field)
			one.set(one.back)
			r.reconcile(c, service(), "a")
		}
		found := r.diff(c, service(families(corev1.IPv4Protocol, corev1.IPv6Protocol)), "a")
		want(r, "refusal of another field", found.Refused, nil)
		r.apply(c, service(), found.Plan)
		want(r, "IP families", len(r.balancer().Spec.IPFamilies), 2)
	})
}

// TestFieldSetBack: a field that a person has set, and set back as the event asks, belongs to this program again: later
// changes of the Service and of its Nodes are carried out.
func TestFieldSetBack(t *testing.T) {
	eachOwner(t, func(r *rig, c *Cloud) {
		before := r.destinationsJSON()
		r.edit(`{"spec":{"ports":[{"port":8080,"protocol":"TCP"}]}}`)
		r.editRouting(`{"destinations":[]}`)
		r.edit(`{"spec":{"ports":[{"port":80,"protocol":"TCP"}]}}`)
		r.editRouting(before)
		r.server.ForgetRequests()
		r.reconcile(c, service(), "a")
		want(r, "writes that take the ownership", len(r.server.Writes()), 2)
		pass(time.Minute)
		r.addMachine("b")
		synctest.Wait()
		r.reconcile(c, service(setPort(443)), "a", "b")
		want(r, "port", r.balancer().Spec.Ports[0].Port, 443)
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1 10.0.0.2")
		r.edit(`{"spec":{"ports":[{"port":8080,"protocol":"TCP"}]}}`)
		found := r.diff(c, service(setPort(443)), "a", "b")
		want(r, "plan after another value", found.Plan.String(), "")
		wantError(r, "refusal of another value", found.Refused, "kubectl-edit", "spec.ports")
	})
}

// destinationsJSON returns the change that sets the destinations as they are.
func (r *rig) destinationsJSON() string {
	r.Helper()
	routing, _ := r.server.LoadBalancerRouting(serviceName)
	data, err := json.Marshal(map[string]any{"destinations": routing.Destinations})
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

// TestObjectsWithoutManagedFields: objects that were restored without managed fields are adopted: the API server makes
// "before-first-apply" the manager of all their fields, whose conflicts nobody could solve.
func TestObjectsWithoutManagedFields(t *testing.T) {
	for name, prepare := range map[string]func(r *rig){
		"never applied": func(*rig) {},
		"applied by another": func(r *rig) {
			_, err := r.api().LoadBalancers.Patch(r.ctx, serviceName, types.ApplyPatchType,
				[]byte(`{"apiVersion":"networking.ironcore.dev/v1alpha1","kind":"LoadBalancer",`+
					`"metadata":{"name":"`+serviceName+`","labels":{"team":"shop"}}}`), editOptions())
			want(r, "error of another program", err, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a")
				r.addMachine("b")
				c := r.start()
				r.reconcile(c, service(), "a")
				r.server.ChangeLoadBalancer(serviceName, func(l *networkingv1alpha1.LoadBalancer) {
					l.ManagedFields = nil
				})
				r.server.ChangeLoadBalancerRouting(serviceName, func(l *networkingv1alpha1.LoadBalancerRouting) {
					l.ManagedFields = nil
				})
				prepare(r)
				pass(time.Minute)
				r.server.ForgetRequests()
				want(r, "plan without a change", r.diff(c, service(), "a").Plan.String(), "")
				for _, port := range []int32{443, 444} {
					r.reconcile(c, service(setPort(port)), "b")
					want(r, "port", r.balancer().Spec.Ports[0].Port, port)
				}
				want(r, "destinations", r.destinations(serviceName), "10.0.0.2")
			})
		})
	}
}

// TestStalePlan: a plan for objects that have changed since is not carried out, and a new plan is.
func TestStalePlan(t *testing.T) {
	for name, change := range map[string]func(*corev1.Service){
		"load balancer": setPort(443), "destinations": unchanged,
	} {
		t.Run(name, func(t *testing.T) {
			eachOwner(t, func(r *rig, c *Cloud) {
				r.addMachine("b")
				synctest.Wait()
				s := service(change)
				plan := r.diff(c, s, "b").Plan
				r.touchObjects()
				_, err := c.balancers.Apply(r.ctx, s, plan)
				want(r, "is stale", errors.Is(err, cloud.ErrStale), true)
				transient, _ := c.balancers.ClassifyError(err)
				want(r, "is transient", transient, true)
				want(r, "port", r.balancer().Spec.Ports[0].Port, 80)
				want(r, "destinations", r.destinations(serviceName), "10.0.0.1")
				synctest.Wait()
				r.reconcile(c, s, "b")
				want(r, "destinations", r.destinations(serviceName), "10.0.0.2")
			})
		})
	}
}

// touchObjects changes the versions of the objects of the Service.
func (r *rig) touchObjects() {
	r.Helper()
	r.server.ChangeLoadBalancer(serviceName, func(l *networkingv1alpha1.LoadBalancer) {
		l.Labels = map[string]string{"touched": "yes"}
	})
	r.server.ChangeLoadBalancerRouting(serviceName, func(l *networkingv1alpha1.LoadBalancerRouting) {
		l.Labels = map[string]string{"touched": "yes"}
	})
}

// TestStaleDeletion: a load balancer that has changed since the plan is not deleted.
func TestStaleDeletion(t *testing.T) {
	eachOwner(t, func(r *rig, c *Cloud) {
		plan := r.planDelete(c, service(), false).Plan
		r.touchObjects()
		_, err := c.balancers.Apply(r.ctx, service(), plan)
		want(r, "is stale", errors.Is(err, cloud.ErrStale), true)
		want(r, "is being deleted", r.balancer().DeletionTimestamp != nil, false)
	})
}

// TestCreatedMeanwhile: a load balancer that somebody creates with the same name before the plan is carried out is not
// overwritten.
func TestCreatedMeanwhile(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		c := r.start()
		plan := r.diff(c, service(), "a").Plan
		_, err := r.api().LoadBalancers.Create(r.ctx, &networkingv1alpha1.LoadBalancer{
			ObjectMeta: metav1.ObjectMeta{Name: serviceName},
			Spec: networkingv1alpha1.LoadBalancerSpec{Type: networkingv1alpha1.LoadBalancerTypePublic,
				IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
				NetworkRef: corev1.LocalObjectReference{Name: testNetwork},
				Ports:      []networkingv1alpha1.LoadBalancerPort{{Port: 22}}}}, metav1.CreateOptions{})
		want(r, "error of another program", err, nil)
		_, err = c.balancers.Apply(r.ctx, service(), plan)
		want(r, "an error", err != nil, true)
		want(r, "port", r.balancer().Spec.Ports[0].Port, 22)
		want(r, "destinations", r.destinations(serviceName), "no routing")
	})
}
