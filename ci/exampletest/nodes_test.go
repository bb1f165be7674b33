package exampletest

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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// kubelet is a client with the rights of a Node's kubelet.
func kubelet(t *testing.T, node string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(controlplanetest.Get(t).Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + node, Groups: []string{"system:nodes"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// providerIDPolicy stores the example until the test ends.
func providerIDPolicy(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	data, err := os.ReadFile(checkout.Path(t, "examples/nodes/provider-id-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := charttest.Decode(string(data))
	if err != nil {
		t.Fatal(err)
	}
	admission := admin.AdmissionregistrationV1()
	for _, object := range objects {
		switch object := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			_, err = admission.ValidatingAdmissionPolicies().Create(t.Context(), object, metav1.CreateOptions{})
			t.Cleanup(func() {
				deleted(t, admission.ValidatingAdmissionPolicies().Delete(context.WithoutCancel(t.Context()),
					object.Name, metav1.DeleteOptions{}))
			})
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			_, err = admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), object, metav1.CreateOptions{})
			t.Cleanup(func() {
				deleted(t, admission.ValidatingAdmissionPolicyBindings().Delete(context.WithoutCancel(t.Context()),
					object.Name, metav1.DeleteOptions{}))
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func deleted(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// refusedProviderID wants the policy's refusal.
func refusedProviderID(err error) error {
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "may not set spec.providerID") {
		return fmt.Errorf("a provider ID that a kubelet sets gives %w", err)
	}
	return nil
}

// TestKubeletsSetNoProviderID, neither with a new Node nor later; what the cloud controller manager has set stays, and
// does not hinder them.
func TestKubeletsSetNoProviderID(t *testing.T) {
	tier.NeedFull(t)
	admin, err := kubernetes.NewForConfig(controlplanetest.Get(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	name := controlplanetest.Namespace(t) + "-a"
	client := kubelet(t, name).CoreV1().Nodes()
	made := func(id string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}}
	}
	patch := func(by typedcorev1.NodeInterface, text string) error {
		_, err := by.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	dry := []string{metav1.DryRunAll}
	if _, err := client.Create(t.Context(), made("thalassacloud://another"),
		metav1.CreateOptions{DryRun: dry}); err != nil {
		t.Fatalf("without the policy: %v", err)
	}
	providerIDPolicy(t, admin)
	controlplanetest.Eventually(t, time.Minute, "the policy is in force", func(ctx context.Context) error {
		_, err := client.Create(ctx, made("thalassacloud://another"), metav1.CreateOptions{DryRun: dry})
		return refusedProviderID(err)
	})
	if _, err := client.Create(t.Context(), made(""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		deleted(t, admin.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}))
	})
	if err := refusedProviderID(patch(client, `{"spec":{"providerID":"thalassacloud://another"}}`)); err != nil {
		t.Error(err)
	}
	if err := patch(admin.CoreV1().Nodes(), `{"spec":{"providerID":"thalassacloud://own"}}`); err != nil {
		t.Fatal(err)
	}
	if err := patch(client, `{"metadata":{"annotations":{"example.com/a":"b"}}}`); err != nil {
		t.Errorf("a kubelet's other patch: %v", err)
	}
}
