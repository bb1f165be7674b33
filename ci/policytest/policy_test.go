package policytest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/generate"
)

// waitTimeout bounds the wait for what Kubernetes does in the background.
const waitTimeout = time.Minute

// chartDir is the folder of the chart.
func chartDir(tb testing.TB) string {
	tb.Helper()
	return checkout.Path(tb, "charts/thalassa-ccm")
}

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// policy is an admission policy with the binding that puts it in force.
type policy struct {
	*admissionv1.ValidatingAdmissionPolicy
	binding *admissionv1.ValidatingAdmissionPolicyBinding
}

// release is one of that name with the policy enabled; actions may be empty.
func release(t *testing.T, name string, actions ...any) chart.Release {
	t.Helper()
	return releaseWith(t, "minimal-values.yaml", name, actions...)
}

// releaseWith is a release with one of the chart's values files.
func releaseWith(t *testing.T, file, name string, actions ...any) chart.Release {
	t.Helper()
	values := map[string]any{}
	data, err := os.ReadFile(chartDir(t) + "/ci/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	settings := map[string]any{"enabled": true}
	if len(actions) > 0 {
		settings["validationActions"] = actions
	}
	values["admissionPolicy"] = settings
	return chart.Release{Name: name, Namespace: "kube-system", Values: values}
}

// rendered returns what the chart makes for a release of that name; actions may be empty.
func rendered(t *testing.T, name string, actions ...any) policy {
	t.Helper()
	return renderedFrom(t, release(t, name, actions...))
}

func renderedFrom(t *testing.T, of chart.Release) policy {
	t.Helper()
	manifest, _, err := chart.Render(t.Context(), chartDir(t), of)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, manifest)
}

// decoded finds the one policy and the one binding of a manifest.
func decoded(t *testing.T, manifest string) policy {
	t.Helper()
	objects, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var found policy
	for _, object := range objects {
		switch object := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			found.ValidatingAdmissionPolicy = object
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			found.binding = object
		}
	}
	if found.ValidatingAdmissionPolicy == nil || found.binding == nil {
		t.Fatal("the manifest lacks the policy or its binding")
	}
	return found
}

// generated makes a policy of any registry.
func generated(t *testing.T, name string, registry *annotation.Registry) policy {
	t.Helper()
	made := policy{
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			}},
	}
	if err := yaml.UnmarshalStrict([]byte(generate.AdmissionPolicy(registry, "")), &made.Spec); err != nil {
		t.Fatal(err)
	}
	return made
}

// put stores a policy and its binding until the test ends. The binding is for one namespace, so that no test feels
// another's, which has no effect on objects without a namespace.
func put(t *testing.T, client kubernetes.Interface, namespace string, p policy) {
	t.Helper()
	binding := p.binding.DeepCopy()
	binding.Spec.MatchResources = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
	}
	admission := client.AdmissionregistrationV1()
	if _, err := admission.ValidatingAdmissionPolicies().Create(t.Context(), p.ValidatingAdmissionPolicy,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, client, p.Name) })
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// install puts a policy in force until the test ends: it waits until the API server applies it to the names under
// prefix.
func install(t *testing.T, client kubernetes.Interface, namespace string, p policy, prefix string) {
	t.Helper()
	put(t, client, namespace, p)
	controlplanetest.Eventually(t, waitTimeout, "the policy is in force", func(ctx context.Context) error {
		err := create(ctx, client, service(namespace, map[string]string{prefix + "nonsense": ""}))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "'"+p.Name+"'") {
			return fmt.Errorf("a Service with an unknown annotation gives %w", err)
		}
		return nil
	})
}

// remove takes a policy out of force: another test may install one that differs.
func remove(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitTimeout)
	defer cancel()
	admission := client.AdmissionregistrationV1()
	if err := admission.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := admission.ValidatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// cluster returns a client of the tests' API server and a namespace.
func cluster(t *testing.T) (kubernetes.Interface, string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(controlplanetest.Get(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	return client, controlplanetest.Namespace(t)
}

// service is one with these annotations, which needs no address. Its ports are those of ports.
func service(namespace string, annotations map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, Annotations: annotations},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{
			{Name: "http", Port: 80}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
			{Name: "dns-tcp", Port: 53}, {Name: "443", Port: 8443},
		}},
	}
}

// create asks the API server whether it would store a Service, and has it store none.
func create(ctx context.Context, client kubernetes.Interface, s *corev1.Service) error {
	_, err := client.CoreV1().Services(s.Namespace).Create(ctx, s,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestPolicyHasNoWarnings has Kubernetes check the types of all expressions, as it does for every policy.
func TestPolicyHasNoWarnings(t *testing.T) {
	client, namespace := cluster(t)
	wantNoWarnings(t, client, namespace, rendered(t, "thalassa-ccm"), thalassa.Annotations().Prefix())
}

// wantNoWarnings installs a policy and has Kubernetes check its types.
func wantNoWarnings(t *testing.T, client kubernetes.Interface, namespace string, p policy, prefix string) {
	t.Helper()
	install(t, client, namespace, p, prefix)
	wantTypesChecked(t, client, p)
}

// wantTypesChecked fails if Kubernetes warns of the types of a policy.
func wantTypesChecked(t *testing.T, client kubernetes.Interface, p policy) {
	t.Helper()
	controlplanetest.Eventually(t, waitTimeout, "the types are checked", func(ctx context.Context) error {
		got, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got.Status.TypeChecking == nil || got.Status.ObservedGeneration != got.Generation {
			return fmt.Errorf("status %+v", got.Status)
		}
		for _, warning := range got.Status.TypeChecking.ExpressionWarnings {
			t.Errorf("%s: %s", warning.FieldRef, warning.Warning)
		}
		return nil
	})
}
