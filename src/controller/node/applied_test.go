package node

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestMerge: wanted values are set, values that were set before and are not wanted any more are removed, and those of
// other clients stay.
func TestMerge(t *testing.T) {
	type m = map[string]string
	for name, tt := range map[string]struct {
		have, wanted, before m
		want                 merged
	}{
		"nothing":       {nil, nil, nil, merged{}},
		"a new one":     {nil, m{"a": "1"}, nil, merged{set: m{"a": "1"}, applied: m{"a": "1"}}},
		"as it was set": {m{"a": "1"}, m{"a": "1"}, m{"a": "1"}, merged{applied: m{"a": "1"}}},
		"another value": {m{"a": "1"}, m{"a": "2"}, m{"a": "1"},
			merged{set: m{"a": "2"}, applied: m{"a": "2"}}},
		"not wanted any more":          {m{"a": "1"}, nil, m{"a": "1"}, merged{remove: []string{"a"}}},
		"not wanted, and gone already": {nil, nil, m{"a": "1"}, merged{}},
		"removed by hand": {nil, m{"a": "1"}, m{"a": "1"},
			merged{set: m{"a": "1"}, applied: m{"a": "1"}}},
		"a user's, of the same value":       {m{"a": "1"}, m{"a": "1"}, nil, merged{}},
		"a user's, of another value":        {m{"a": "x"}, m{"a": "1"}, nil, merged{foreign: []string{"a"}}},
		"a user's, that is not wanted":      {m{"a": "x"}, nil, nil, merged{}},
		"changed by a user":                 {m{"a": "x"}, m{"a": "1"}, m{"a": "1"}, merged{foreign: []string{"a"}}},
		"changed by a user, and not wanted": {m{"a": "x"}, nil, m{"a": "1"}, merged{}},
		"changed by a user to what comes":   {m{"a": "2"}, m{"a": "2"}, m{"a": "1"}, merged{applied: m{"a": "2"}}},
		"an empty value":                    {m{"a": ""}, m{"a": ""}, m{"a": ""}, merged{applied: m{"a": ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.want.set == nil {
				tt.want.set = m{}
			}
			if tt.want.applied == nil {
				tt.want.applied = m{}
			}
			if diff := cmp.Diff(tt.want, merge(tt.have, tt.wanted, tt.before),
				cmp.AllowUnexported(merged{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAppliedIsReadAsItIsWritten: a record is parsed as it was written, and an invalid one is empty, so nothing is
// removed.
func TestAppliedIsReadAsItIsWritten(t *testing.T) {
	a := applied{Labels: map[string]string{"b": "2", "a": "1"}, Taints: map[string]string{"gpu:NoSchedule": ""}}
	const want = `{"labels":{"a":"1","b":"2"},"taints":{"gpu:NoSchedule":""}}`
	if got := a.String(); got != want {
		t.Errorf("written %s, want %s", got, want)
	}
	if diff := cmp.Diff(a, readApplied(want)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "{", `[]`, `{"labels":1}`} {
		if diff := cmp.Diff(applied{}, readApplied(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got := (applied{}).String(); got != "" {
		t.Errorf("nothing is written as %q", got)
	}
}

// TestForgedRecord: a kubelet may write annotations of its Node. Its changes of the record remove nothing, and the
// record is written again.
func TestForgedRecord(t *testing.T) {
	const all = `{"labels":{"team":"shop","node-restriction.kubernetes.io/tier":"db"},"taints":{"quarantine:NoExecute":"","node.kubernetes.io/unschedulable:NoSchedule":"",` +
		`"node-role.kubernetes.io/control-plane:NoSchedule":"","node.cloudprovider.kubernetes.io/shutdown:NoSchedule":""}}`
	labels := map[string]string{"team": "shop", "node-restriction.kubernetes.io/tier": "db"}
	var taints []corev1.Taint
	for _, key := range []string{"node.kubernetes.io/unschedulable", "node-role.kubernetes.io/control-plane",
		"node.cloudprovider.kubernetes.io/shutdown"} {
		taints = append(taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	taints = append(taints, corev1.Taint{Key: "quarantine", Effect: corev1.TaintEffectNoExecute})
	for name, tt := range map[string]struct{ text, checksum string }{
		"no seal":             {all, ""},
		"the seal of another": {all, checksum(`{"labels":{"team":"shop"}}`)},
		"no record":           {"", checksum(all)},
	} {
		t.Run(name, func(t *testing.T) {
			_, node := writes(t, fresh(), machineA())
			maps.Copy(node.Labels, labels)
			node.Spec.Taints = slices.Clone(taints)
			wanted := maps.Clone(node.Labels)
			wasSet(node, tt.text)
			if node.Labels[testChecksum] = tt.checksum; tt.checksum == "" {
				delete(node.Labels, testChecksum)
			}
			d, _ := compare(node, machineA(), testDomain)
			if len(d.problems) != 1 || d.problems[0].Reason != cloud.InvalidSetting {
				t.Errorf("events %v", d.problems)
			}
			_, after := writes(t, node, machineA())
			if diff := cmp.Diff(wanted, after.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(taints, after.Spec.Taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if text, left := after.Annotations[testRecord]; left && text != "" {
				t.Errorf("the record is left: %s", text)
			}
		})
	}
}

// TestRecordOfProtectedKeys: even a record with a valid checksum does not remove labels and taints that may not be set
// because of it.
func TestRecordOfProtectedKeys(t *testing.T) {
	_, node := writes(t, fresh(), machineA())
	node.Labels["kubernetes.io/arch"], node.Labels[testDomain+"/keep-node"] = "amd64", "true"
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable,
		Effect: corev1.TaintEffectNoExecute})
	wasSet(node, `{"labels":{"kubernetes.io/arch":"amd64","example.com/keep-node":"true"},"taints":{"node.kubernetes.io/unreachable:NoExecute":"","node.kubernetes.io/not-ready:NoSchedule":""}}`)
	_, after := writes(t, node, machineA())
	if after.Labels["kubernetes.io/arch"] != "amd64" || after.Labels[testDomain+"/keep-node"] != "true" ||
		len(after.Spec.Taints) != 2 {
		t.Errorf("labels %v, taints %v", after.Labels, after.Spec.Taints)
	}
}
