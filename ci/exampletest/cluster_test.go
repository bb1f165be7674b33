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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

func TestMain(m *testing.M) {
	if code, is := kubectlMain(); is {
		os.Exit(code)
	}
	controlplanetest.Main(m)
}

// cluster is an API server with the admission policy in force in one namespace.
type cluster struct {
	client    kubernetes.Interface
	namespace string
	// said is what the API server warns of.
	said strings.Builder
}

// HandleWarningHeader implements rest.WarningHandler.
func (c *cluster) HandleWarningHeader(_ int, _ string, text string) { c.said.WriteString(text + "\n") }

// newCluster puts the policy in force.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{namespace: controlplanetest.Namespace(t)}
	config := rest.CopyConfig(controlplanetest.Get(t).Config())
	config.WarningHandler = c
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c.client = client
	c.install(t)
	controlplanetest.Eventually(t, time.Minute, "the policy is in force", func(ctx context.Context) error {
		bad := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "bad", Annotations: map[string]string{thalassa.Annotations().Prefix() +
				"nonsense": ""}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		_, err := client.CoreV1().Services(c.namespace).Create(ctx, bad,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("a Service with an unknown annotation gives %w", err)
		}
		return nil
	})
	return c
}

// install stores what the chart renders of the policy until the test ends.
func (c *cluster) install(t *testing.T) {
	t.Helper()
	chartDir := checkout.Path(t, "charts/thalassa-ccm")
	data, err := os.ReadFile(chartDir + "/ci/minimal-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	values["admissionPolicy"] = map[string]any{"enabled": true}
	manifest, _, err := chart.Render(t.Context(), chartDir, chart.Release{Name: "thalassa-ccm",
		Namespace: "kube-system", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := charttest.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	admission := c.client.AdmissionregistrationV1()
	for _, object := range objects {
		switch object := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			_, err = admission.ValidatingAdmissionPolicies().Create(t.Context(), object, metav1.CreateOptions{})
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			_, err = admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), object, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// store has the API server store a Service, and returns what it makes of it: with node ports, and with an identity.
func (c *cluster) store(t *testing.T, service *corev1.Service) *corev1.Service {
	t.Helper()
	c.said.Reset()
	stored, err := c.client.CoreV1().Services(c.namespace).Create(t.Context(), service,
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	if c.said.Len() > 0 {
		t.Errorf("the API server warns: %s", c.said.String())
	}
	return stored
}

// patch changes a stored Service as kubectl patch does.
func (c *cluster) patch(t *testing.T, name string, patch []byte) *corev1.Service {
	t.Helper()
	stored, err := c.client.CoreV1().Services(c.namespace).Patch(t.Context(), name, types.StrategicMergePatchType,
		patch, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}
