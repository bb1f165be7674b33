package thalassa

import (
	"maps"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

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

// TestUpdatesRepeatWhatIsNotOurs: the API replaces objects as a whole, so what others wrote on them is sent back.
func TestUpdatesRepeatWhatIsNotOurs(t *testing.T) {
	l := newFeatureLab(t)
	nodes, web := l.nodes("a"), service("web", 80)
	l.settle(web, nodes)
	mine := func(body map[string]any) {
		for _, key := range []string{"labels", "annotations"} {
			all := map[string]string{"mine": "x"}
			was, _ := body[key].(map[string]string)
			maps.Copy(all, was)
			body[key] = all
		}
		body["description"] = "mine"
	}
	l.putListener(mine)
	l.putGroup(mine)
	l.putBalancer(mine)
	l.restart()
	annotated("idle-connection-timeout", "77", "loadbalancing-policy", "RANDOM", "delete-protection", "true")(web)
	l.settle(web, nodes)
	lb, group := l.balancer(), l.group()
	listener := lb.LoadbalancerListeners[0]
	if *listener.ConnectionIdleTimeout != 77 || *group.LoadbalancingPolicy != "RANDOM" || !lb.DeleteProtection {
		t.Fatalf("not updated: %+v, %+v", lb, group)
	}
	for what, has := range map[string][3]string{
		"load balancer": {lb.Description, lb.Labels["mine"], lb.Annotations["mine"]},
		"listener":      {listener.Description, listener.Labels["mine"], listener.Annotations["mine"]},
		"target group":  {group.Description, group.Labels["mine"], group.Annotations["mine"]},
	} {
		if has != [3]string{"mine", "x", "x"} {
			t.Errorf("%s: description, label and annotation of others are %q", what, has)
		}
	}
}
