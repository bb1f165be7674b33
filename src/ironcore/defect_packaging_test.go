package ironcore

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// packaged is what the overlay ironcore installs. Tests of the chart prove that the chart installs the same.
type packaged struct {
	roles    map[string][]rbacv1.PolicyRule // by kind and name
	bindings []rbacv1.RoleRef
	workload appsv1.DaemonSet
}

// object is any of the objects.
type object struct {
	Kind     string                `json:"kind"`
	Metadata struct{ Name string } `json:"metadata"`
	Rules    []rbacv1.PolicyRule   `json:"rules"`
	RoleRef  rbacv1.RoleRef        `json:"roleRef"`
	Spec     appsv1.DaemonSetSpec  `json:"spec"`
}

// readPackaged reads the base of an overlay.
func readPackaged(t *testing.T, base string) packaged {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(checkout.Path(t, "kustomize/base"), base, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	found := packaged{roles: map[string][]rbacv1.PolicyRule{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
		for {
			var o object
			if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			found.add(o)
		}
	}
	return found
}

func (p *packaged) add(o object) {
	switch o.Kind {
	case "Role", "ClusterRole":
		p.roles[o.Kind+" "+o.Metadata.Name] = o.Rules
	case "RoleBinding", "ClusterRoleBinding":
		p.bindings = append(p.bindings, o.RoleRef)
	case "DaemonSet":
		p.workload.Spec = o.Spec
	}
}

// permits reports whether a rule of the roles permits the verb.
func (p *packaged) permits(group, resource, verb string) bool {
	for _, rules := range p.roles {
		if slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, resource) &&
				slices.Contains(rule.Verbs, verb)
		}) {
			return true
		}
	}
	return false
}

// TestDefect26_PackagedPermissions: bindings refer to roles that exist, and the roles have the permissions that the
// manifests of the existing program lack. There is a readiness probe, and the pods tolerate the taints of control-plane
// Nodes and of new Nodes.
func TestDefect26_PackagedPermissions(t *testing.T) {
	for _, base := range []string{"ironcore", "ironcore-permissions"} {
		p := readPackaged(t, base)
		for _, ref := range p.bindings {
			// Kubernetes creates this one.
			if p.roles[ref.Kind+" "+ref.Name] == nil && ref.Name != "extension-apiserver-authentication-reader" {
				t.Errorf("%s: a binding refers to %s %s, which does not exist", base, ref.Kind, ref.Name)
			}
		}
		if len(p.bindings) < 2 {
			t.Errorf("%s: %d bindings", base, len(p.bindings))
		}
	}
	p := readPackaged(t, "ironcore")
	for _, needed := range [][2]string{{"nodes", "patch"}, {"nodes/status", "patch"}, {"services/status", "patch"},
		{"events", "create"}, {"events", "patch"}} {
		if !p.permits("", needed[0], needed[1]) {
			t.Errorf("%s %s is not permitted", needed[1], needed[0])
		}
	}
	spec := p.workload.Spec.Template.Spec
	if len(spec.Containers) != 1 || spec.Containers[0].ReadinessProbe == nil {
		t.Fatalf("containers %+v, want one with a readiness probe", spec.Containers)
	}
	for _, key := range []string{"node-role.kubernetes.io/control-plane",
		"node.cloudprovider.kubernetes.io/uninitialized"} {
		taint := corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(spec.Tolerations, func(toleration corev1.Toleration) bool {
			return toleration.ToleratesTaint(klog.Background(), &taint, false)
		}) {
			t.Errorf("the pods do not tolerate %s", key)
		}
	}
}
