package ironcore

import (
	"errors"
	"strings"
	"testing"
	"time"

	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/balancer"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
)

// TestRestoredCluster: a cluster that was restored from a backup of another one has Services with the same UIDs. It
// leaves the load balancers of the other one alone.
func TestRestoredCluster(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.addMachine("a")
		r.addMachine("b")
		blue, config := r.start(), testConfig()
		config.ClusterName = "green"
		green := r.startWith(config)
		r.reconcile(blue, service(), "a")
		pass(time.Minute)
		r.server.ForgetRequests()
		_, err := green.balancers.Diff(r.ctx, service(), targets(green, "b"), false)
		want(r, "error of Diff", errors.Is(err, balancer.ErrOtherOwner), true)
		for _, written := range []bool{false, true} {
			found := r.planDelete(green, service(), written)
			want(r, "exists", found.Exists, false)
			want(r, "plan to delete", found.Plan.String(), "")
		}
		managed, err := green.balancers.ListManaged(r.ctx)
		want(r, "error of ListManaged", err, nil)
		want(r, "managed by green", len(managed), 0)
		want(r, "writes", strings.Join(r.server.Writes(), ", "), "")
		want(r, "destinations", r.destinations(serviceName), "10.0.0.1")
	})
}

// TestDefaultClusterName: the former program without --cluster-name has written "kubernetes", in the annotation and in
// legacy names. The load balancer is taken over with its address.
func TestDefaultClusterName(t *testing.T) {
	for _, name := range []string{serviceName, "kubernetes-web-0a1b2c3d"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.addMachine("a")
				r.former().ensure(name, service(), "a")
				r.server.ChangeLoadBalancer(name, func(l *networkingv1alpha1.LoadBalancer) {
					l.Annotations[label.ClusterName] = label.DefaultCluster
				})
				pass(time.Minute)
				before, _ := r.server.LoadBalancer(name)
				c := r.start()
				r.reconcile(c, service(), "a")
				want(r, "load balancers", len(r.server.LoadBalancers()), 1)
				after, _ := r.server.LoadBalancer(name)
				want(r, "UID", after.UID, before.UID)
				want(r, "address", after.Status.IPs[0], before.Status.IPs[0])
				want(r, "cluster", label.OwnerOf(after).Cluster, testCluster)
				managed, _ := c.balancers.ListManaged(r.ctx)
				want(r, "managed", len(managed), 1)
				r.apply(c, service(), r.planDelete(c, service(), false).Plan)
				pass(time.Minute)
				want(r, "exists after the deletion", r.planDelete(c, service(), true).Exists, false)
				want(r, "load balancers after the deletion", len(r.server.LoadBalancers()), 0)
			})
		})
	}
}

// TestDestinationsFollowWhenRefused: the destinations follow the Nodes although a setting cannot be used, or a person
// has set a field. Nothing else changes.
func TestDestinationsFollowWhenRefused(t *testing.T) {
	eachOwner(t, func(r *rig, c *Cloud) {
		r.addMachine("b")
		pass(time.Second)
		for title, refuse := range map[string]func() cloud.Comparison{
			"annotation": func() cloud.Comparison { return r.diff(c, service(internalService("perhaps")), "b") },
			"field manager": func() cloud.Comparison {
				r.edit(`{"spec":{"ports":[{"port":8080,"protocol":"TCP"}]}}`)
				return r.diff(c, service(), "b")
			},
		} {
			before := r.balancer()
			found := refuse()
			if found.Refused == nil {
				r.Fatalf("%s: nothing is refused", title)
			}
			r.apply(c, service(), found.Plan)
			want(r, "destinations, "+title, r.destinations(serviceName), "10.0.0.2")
			want(r, "type, "+title, r.balancer().Spec.Type, before.Spec.Type)
			r.edit(`{"spec":{"ports":[{"port":80,"protocol":"TCP"}]}}`)
			r.reconcile(c, service(), "a")
		}
	})
}

// TestDestinationsStayWithoutMachines: destinations stay while the list has none of the machines of the Nodes, and
// follow the Nodes otherwise.
func TestDestinationsStayWithoutMachines(t *testing.T) {
	inBubble(t, func(r *rig) {
		for _, name := range []string{"a", "b", "c"} {
			r.addMachine(name)
		}
		c := r.start()
		r.reconcile(c, service(), "a", "b", "c")
		r.server.DeleteMachine("b")
		pass(time.Second)
		r.reconcile(c, service(), "a", "b", "c")
		want(r, "destinations with two machines", r.destinations(serviceName), "10.0.0.1 10.0.0.3")
		for _, name := range []string{"a", "c"} {
			r.server.DeleteMachine(name)
		}
		pass(time.Second)
		found := r.reconcile(c, service(), "a", "b", "c")
		want(r, "has to be checked again", found.Targets.LeftOut, true)
		want(r, "destinations without machines", r.destinations(serviceName), "10.0.0.1 10.0.0.3")
		r.reconcile(c, service())
		want(r, "destinations without Nodes", r.destinations(serviceName), "")
	})
}
