package demo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// rewrite returns how the rendered chart is changed before it is installed: not at all in the demo's own cluster. In
// the user's, the cluster role keeps only what reads, and the right to write is given for the demo's own nodes by name
// and for Services and events in the demo's namespace: the API server itself then refuses every other write.
func (c *cluster) rewrite() func([]byte) ([]byte, error) {
	if !c.external {
		return nil
	}
	return func(manifest []byte) ([]byte, error) {
		var out bytes.Buffer
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				return out.Bytes(), nil
			} else if err != nil {
				return nil, fmt.Errorf("reading the rendered chart: %w", err)
			}
			if len(object.Object) == 0 {
				continue
			}
			if err := c.restrict(object, &out); err != nil {
				return nil, err
			}
		}
	}
}

// restrict writes the object, or what stands for it in the user's cluster.
func (c *cluster) restrict(object *unstructured.Unstructured, out io.Writer) error {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[externalKey] = "true"
	object.SetLabels(labels)
	if kind := object.GetKind(); (kind == "Role" || kind == "RoleBinding") && object.GetName() == c.release() {
		// They are about the lease, which is the demo's own.
		object.SetNamespace(externalNamespace)
	}
	switch object.GetKind() {
	case "DaemonSet":
		return ownLease(object, out)
	case "ClusterRole":
		return c.narrow(object, out)
	}
	return emit(out, object.Object)
}

// ownLease moves the lease into the demo's namespace, because the cluster's own cloud controller manager may hold the
// usual one. The chart itself refuses that: two managers of one cloud must share a lease, and only these two have no
// cloud in common.
func ownLease(object *unstructured.Unstructured, out io.Writer) error {
	var workload appsv1.DaemonSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &workload); err != nil {
		return fmt.Errorf("reading DaemonSet %s: %w", object.GetName(), err)
	}
	for i := range workload.Spec.Template.Spec.Containers {
		container := &workload.Spec.Template.Spec.Containers[i]
		container.Args = append(container.Args, "--leader-elect-resource-namespace="+externalNamespace)
	}
	return emit(out, workload)
}

// narrow replaces the cluster role by one that reads, and a role that writes where the demo lives.
func (c *cluster) narrow(object *unstructured.Unstructured, out io.Writer) error {
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
		return fmt.Errorf("reading cluster role %s: %w", object.GetName(), err)
	}
	local := rbacv1.Role{TypeMeta: role.TypeMeta, ObjectMeta: *role.ObjectMeta.DeepCopy()}
	local.Kind, local.Name, local.Namespace = "Role", role.Name+"-writes", externalNamespace
	role.Rules, local.Rules = c.split(role.Rules)
	return errors.Join(emit(out, role), emit(out, local), emit(out, c.bindingOf(local)))
}

// split keeps what reads for the whole cluster, with writes to the demo's nodes by name; all other writes become local.
func (c *cluster) split(rules []rbacv1.PolicyRule) (wide, local []rbacv1.PolicyRule) {
	reading := []string{"get", "list", "watch"}
	for _, rule := range rules {
		// Reviews are questions to the API server about the caller of the metrics port; nothing is stored.
		if slices.Contains(rule.Resources, "tokenreviews") || slices.Contains(rule.Resources, "subjectaccessreviews") {
			wide = append(wide, rule)
			continue
		}
		reads, writes := rule, rule
		reads.Verbs, writes.Verbs = nil, nil
		for _, verb := range rule.Verbs {
			if slices.Contains(reading, verb) {
				reads.Verbs = append(reads.Verbs, verb)
			} else {
				writes.Verbs = append(writes.Verbs, verb)
			}
		}
		if len(reads.Verbs) > 0 {
			wide = append(wide, reads)
		}
		if len(writes.Verbs) == 0 {
			continue
		}
		if slices.Contains(rule.Resources, "nodes") || slices.Contains(rule.Resources, "nodes/status") {
			writes.ResourceNames = c.nodeNames()
			wide = append(wide, writes)
			continue
		}
		local = append(local, writes)
	}
	return wide, local
}

// nodeNames are all nodes that the demo will ever have.
func (c *cluster) nodeNames() []string {
	return []string{c.nodeName("control-plane"), c.nodeName("worker-1"), c.nodeName("worker-2"), c.nodeName("worker-3")}
}

// bindingOf gives the local role to the same ServiceAccount as the cluster role.
func (c *cluster) bindingOf(role rbacv1.Role) rbacv1.RoleBinding {
	binding := rbacv1.RoleBinding{TypeMeta: role.TypeMeta, ObjectMeta: *role.ObjectMeta.DeepCopy()}
	binding.Kind = "RoleBinding"
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}
	binding.Subjects = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: c.release(),
		Namespace: externalNamespace}}
	return binding
}

func emit(out io.Writer, object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	_, err = fmt.Fprintf(out, "---\n%s", text)
	return err
}
