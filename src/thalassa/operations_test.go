package thalassa

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
)

// decoded is a plan after it was encoded as JSON and decoded again. It is the same plan: an operation has nothing
// that JSON does not show.
func decoded(t *testing.T, plan cloud.Plan) cloud.Plan {
	t.Helper()
	again := slices.Clone(plan)
	for i, operation := range plan {
		text, err := json.Marshal(operation.Object)
		if err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
		object := reflect.New(reflect.TypeOf(operation.Object))
		if err := json.Unmarshal(text, object.Interface()); err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
		again[i].Object = object.Elem().Interface()
	}
	if diff := cmp.Diff(plan, again); diff != "" {
		t.Fatalf("the plan is another one after it was encoded (-before +after):\n%s", diff)
	}
	return again
}

// TestPlanIsData: each plan in the life of a Service is a value that survives JSON, is the same when it is made
// again, and what was decoded can be carried out. Once it is, the next plan is empty.
func TestPlanIsData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes := l.nodes("a", "b")
		kinds := map[string]bool{}
		apply := func(s *corev1.Service, found cloud.Comparison) {
			t.Helper()
			for _, operation := range found.Plan {
				kinds[reflect.TypeOf(operation.Object).Name()] = true
			}
			if _, err := l.cloud.balancers.Apply(t.Context(), s, decoded(t, found.Plan)); err != nil {
				t.Fatal(err)
			}
		}
		reach := func(s *corev1.Service, nodes []*corev1.Node) {
			t.Helper()
			targets := cloud.ChooseTargets(nodes, identify)
			apply(s, l.compare(s, targets))
			if left := l.compare(s, targets).Plan; len(left) > 0 {
				t.Fatalf("after the plan was carried out another one is needed:\n%s", left)
			}
			<-time.After(time.Minute)
		}
		with := func(annotations []string, ports ...int32) *corev1.Service {
			s := service("web", ports...)
			annotated(annotations...)(s)
			return s
		}
		reach(with(nil, 80, 443), nodes)
		own := []string{"create-security-group", "true"}
		reach(with(append(own, "idle-connection-timeout", "90"), 80, 8080), nodes[:1])
		reach(with(append(own, "acl-allowed-sources", "192.0.2.0/24"), 80, 8080), nodes[:1])
		reach(with([]string{"loadbalancing-policy", "RANDOM"}, 80), nodes)
		for written := false; ; written = true {
			last := with(nil, 80)
			found, err := l.cloud.balancers.PlanDelete(t.Context(), last, written)
			if err != nil {
				t.Fatal(err)
			}
			if !found.Exists {
				break
			}
			apply(last, found)
			<-time.After(time.Minute)
		}
		if left := l.leftovers(); len(left) > 0 {
			t.Errorf("left in the cloud: %v", left)
		}
		for _, one := range operationTypes() {
			if name := reflect.TypeOf(one).Name(); !kinds[name] {
				t.Errorf("no plan had a %s: have %v", name, kinds)
			}
		}
	})
}

// operationTypes are the objects of all operations.
func operationTypes() []any {
	return []any{
		balancer.CreateLoadBalancer{}, balancer.UpdateLoadBalancer{}, balancer.DeleteLoadBalancer{},
		balancer.CreateListener{}, balancer.UpdateListener{}, balancer.DeleteListener{},
		balancer.CreateTargetGroup{}, balancer.UpdateTargetGroup{}, balancer.SetMachines{},
		balancer.DeleteTargetGroup{},
		balancer.CreateSecurityGroup{}, balancer.UpdateSecurityGroup{}, balancer.DeleteSecurityGroup{},
	}
}

// compare returns how a Service differs, which is the same twice.
func (l *lab) compare(s *corev1.Service, targets cloud.Targets) cloud.Comparison {
	l.Helper()
	before := s.DeepCopy()
	found, err := l.cloud.balancers.Diff(l.Context(), s, targets, false)
	if err != nil {
		l.Fatal(err)
	}
	again, err := l.cloud.balancers.Diff(l.Context(), s, targets, false)
	if err != nil {
		l.Fatal(err)
	}
	if diff := cmp.Diff(found.Plan, again.Plan); diff != "" {
		l.Fatalf("the same inputs give another plan (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(before, s); diff != "" {
		l.Fatalf("the Service was changed (-before +after):\n%s", diff)
	}
	return found
}

// TestPlaceholders: a plan names what does not exist yet, and the executor knows it once it does.
func TestPlaceholders(t *testing.T) {
	l := newLab(t, emulator.Config{})
	web := service("web", 80)
	annotated("create-security-group", "true")(web)
	plan := l.compare(web, cloud.ChooseTargets(l.nodes("a"), identify)).Plan
	create, found := plan[len(plan)-1].Object.(balancer.CreateLoadBalancer)
	if !found {
		t.Fatalf("the last operation is %s, want the creation of the load balancer", plan[len(plan)-1])
	}
	if got, want := create.LoadBalancer.Listeners[0].TargetGroup, "new target group a0a1b2c3dweb-p80"; got != want {
		t.Errorf("the listener leads to %q, want %q", got, want)
	}
	groups := []string{"new security group k8s-ad3a61bc3735"}
	if got, want := create.LoadBalancer.SecurityGroups, groups; !slices.Equal(got, want) {
		t.Errorf("the security groups are %q, want %q", got, want)
	}
	_, err := l.cloud.balancers.Apply(t.Context(), web, plan[len(plan)-1:])
	if err == nil || !strings.Contains(err.Error(), "was not created") {
		t.Errorf("without what it refers to the creation ends with %v, want an error", err)
	}
	if _, err := l.cloud.balancers.Apply(t.Context(), web, cloud.Plan{{Verb: cloud.Create}}); err == nil {
		t.Error("an operation without an object succeeds")
	}
	if _, err := l.cloud.balancers.Apply(t.Context(), web, plan); err != nil {
		t.Fatal(err)
	}
	balancer := l.only()
	if text, _ := json.Marshal(balancer); strings.Contains(string(text), "new ") {
		t.Errorf("the cloud has a placeholder: %s", text)
	}
}

// TestLookBeforeUpdate: what somebody changes between a plan and its writes stays, and is not written over with old
// data.
func TestLookBeforeUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newFeatureLab(t)
		nodes, web := l.nodes("a"), service("web", 80)
		l.settle(web, nodes)
		annotated("idle-connection-timeout", "90", "delete-protection", "true")(web)
		plan := l.compare(web, cloud.ChooseTargets(nodes, identify)).Plan
		l.putListener(func(body map[string]any) { body["allowedSources"] = []string{"192.0.2.0/24"} })
		l.putBalancer(func(body map[string]any) { body["description"] = "theirs" })
		if _, err := l.cloud.balancers.Apply(t.Context(), web, plan); err != nil {
			t.Fatal(err)
		}
		balancer := l.balancer()
		listener := balancer.LoadbalancerListeners[0]
		if len(listener.AllowedSources) != 1 || *listener.ConnectionIdleTimeout != 90 {
			t.Errorf("listener %+v, want the sources that were set since, and the idle timeout of the plan", listener)
		}
		if balancer.Description != "theirs" || !balancer.DeleteProtection {
			t.Errorf("description %q, protected %t; want the description that was set since, and the protection",
				balancer.Description, balancer.DeleteProtection)
		}
	})
}
