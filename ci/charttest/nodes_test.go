package charttest

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// TestNotesCountNodes: who installs into a cluster learns how many nodes the pods may run on, and what to set if there
// are none.
func TestNotesCountNodes(t *testing.T) {
	tier.NeedFull(t)
	plane := controlplanetest.Get(t)
	client := controlplanetest.Client(t, plane)
	for name, labels := range map[string]map[string]string{
		"counted-a": {"pool": "system", "size": "4"}, "counted-b": {"pool": "system", "size": "8"}, "counted-c": {},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, name := range []string{"counted-a", "counted-b", "counted-c"} {
			if err := client.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), name,
				metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	for _, test := range []struct{ want, selector, terms string }{
		{"WARNING: no pod runs, because none of the 3 nodes matches nodeSelector and affinity. By default", "", ""},
		{"none of the 3 nodes matches nodeSelector and affinity. Change\n", "none",
			"{matchExpressions: [{key: pool, operator: Exists}]}"},
		{"none of the 3 nodes matches nodeSelector and affinity. Change\n", "", "{}"},
		{"2 of 3 nodes match", "", "{matchExpressions: [{key: pool, operator: In, values: [system, other]}]}"},
		{"2 of 3 nodes match", "system", "{matchFields: [{key: metadata.name, operator: NotIn, values: [counted-c]}]}"},
		{"1 of 3 nodes match", "", "{matchExpressions: [{key: pool, operator: DoesNotExist}]}"},
		{"1 of 3 nodes match", "", "{matchExpressions: [{key: pool, operator: NotIn, values: [system]}]}"},
		{"1 of 3 nodes match", "",
			"{matchExpressions: [{key: pool, operator: Exists}, {key: size, operator: Gt, values: ['5']}]}"},
		{"2 of 3 nodes match", "", "{matchExpressions: [{key: size, operator: Lt, values: ['5']}]}, " +
			"{matchExpressions: [{key: size, operator: In, values: ['8']}]}"},
	} {
		values := minimal(t)
		if test.selector != "" {
			values["nodeSelector"] = map[string]any{"pool": test.selector}
		}
		if test.terms != "" {
			text := "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" +
				test.terms + "]}}}"
			if err := yaml.Unmarshal([]byte(text), &values); err != nil {
				t.Fatal(err)
			}
		}
		namespace := controlplanetest.Namespace(t)
		r := chart.Release{Name: "thalassa-ccm", Namespace: namespace, Values: values}
		notes, err := chart.Install(t.Context(), plane.Config(), chartDir(t), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(notes, test.want) {
			t.Errorf("%+v: the notes are:\n%s", test, notes)
		}
		if err := chart.Uninstall(t.Context(), plane.Config(), r.Name, namespace, nil); err != nil {
			t.Fatal(err)
		}
	}
	_, notes := manifestAndNotes(t, minimal(t))
	if strings.Contains(notes, "nodes match") {
		t.Errorf("without a cluster, nodes are counted:\n%s", notes)
	}
}
