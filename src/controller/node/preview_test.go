package node

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// previews returns what a program that only looks says about each Node: changes and reasons of problems.
func (r *rig) previews() map[string]string {
	r.Helper()
	found, err := Previews(r.Context(), r.fakeCloud, cloud.MachineBehaviour{Domain: testDomain}, r.cluster.Nodes())
	if err != nil {
		r.Fatal(err)
	}
	words := map[string]string{}
	for _, one := range found {
		text := strings.Join(one.Changes, ", ")
		for _, problem := range one.Problems {
			text += "! " + problem.Reason
		}
		if !one.Managed {
			text += "not managed"
		}
		words[one.Node.Name] = text
	}
	return words
}

// TestPreviews: it shows what the controller then writes, and why it writes nothing for a Node.
func TestPreviews(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.join("a")
		r.register("lost", nil)
		r.register("twin", func(node *corev1.Node) { node.Spec.ProviderID = fakeScheme + "a" })
		r.register("elsewhere", func(node *corev1.Node) { node.Spec.ProviderID = "sky://a" })
		r.register("manual", withoutTaint)
		before := r.previews()
		r.want("the machine of another Node", before["a"], "! "+cloud.MachineTaken)
		r.want("without a machine", before["lost"], "! "+cloud.MachineNotFound)
		r.want("of another cloud", before["elsewhere"], "not managed")
		r.want("without provider ID and taint", before["manual"], "not managed")
	})
	inBubble(t, func(r *rig) {
		r.join("a")
		r.machine("a", func(m *cloud.Machine) { m.Labels = map[string]string{"team": "shop"} })
		text := r.previews()["a"]
		for _, part := range []string{"provider ID " + fakeScheme + "a", "addresses ", "label team=shop",
			"label topology.kubernetes.io/zone=z1", "annotation " + testDomain,
			"no taint node.cloudprovider.kubernetes.io/uninitialized"} {
			if !strings.Contains(text, part) {
				r.Errorf("the preview of a new Node lacks %q: %s", part, text)
			}
		}
		r.start()
		r.initialised("a")
		r.want("a Node in sync", r.previews()["a"], "")
		r.machine("a", func(m *cloud.Machine) {
			m.Labels, m.Taints = nil, []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
		})
		text = r.previews()["a"]
		for _, part := range []string{"no label team", "taint gpu:NoSchedule"} {
			if !strings.Contains(text, part) {
				r.Errorf("the preview after a change lacks %q: %s", part, text)
			}
		}
	})
}

// TestPreviewsShareAList: one list is new enough for all Nodes without a provider ID.
func TestPreviewsShareAList(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.join("a", "b", "c")
		before := time.Now()
		r.previews()
		for name, since := range r.fakeCloud.since {
			if !since.Equal(before) {
				r.Errorf("Node %s needs a list of %s, want %s", name, since, before)
			}
		}
	})
}
