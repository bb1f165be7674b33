package charttest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestInstallIntoKubernetes installs the chart into a real API server, which
// checks every object, and removes it again.
func TestInstallIntoKubernetes(t *testing.T) {
	plane := controlplanetest.Get(t)
	client := controlplanetest.Client(t, plane)
	namespace := controlplanetest.Namespace(t)
	r := chart.Release{Name: "thalassa-ccm", Namespace: namespace, Values: minimal(t)}

	var progress bytes.Buffer
	notes, err := chart.Install(t.Context(), plane.Config(), chartDir(t), r, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if !strings.Contains(notes, "kubectl rollout status") {
		t.Errorf("notes %q", notes)
	}
	if strings.Contains(progress.String(), "Warning") {
		t.Errorf("the API server warns:\n%s", &progress)
	}
	installed, err := client.AppsV1().DaemonSets(namespace).Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantArgs(t, installed, r)
	t.Run("authorization", func(t *testing.T) { wantAuthorization(t, client, namespace) })
	t.Run("finalizer", func(t *testing.T) { wantFinalizer(t, plane, namespace) })

	if err := chart.Uninstall(t.Context(), plane.Config(), r.Name, namespace, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoles().Get(t.Context(), "thalassa-ccm",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after uninstalling, the ClusterRole gives %v, want not found", err)
	}
}

// wantArgs wants the API server to hold the arguments that were rendered.
func wantArgs(t *testing.T, installed *appsv1.DaemonSet, r chart.Release) {
	t.Helper()
	decoded, err := Decode(manifest(t, r))
	if err != nil {
		t.Fatal(err)
	}
	want := find[*appsv1.DaemonSet](t, decoded, installed.Name).Spec.Template.Spec.Containers[0].Args
	if diff := cmp.Diff(want, installed.Spec.Template.Spec.Containers[0].Args); diff != "" {
		t.Errorf("arguments (-rendered +installed):\n%s", diff)
	}
}

// access is one question to the API server's authorizer.
type access struct{ verb, group, resource, subresource, namespace, name string }

// wantAuthorization asks the API server what the ServiceAccount may do.
func wantAuthorization(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	const leases, lease = "coordination.k8s.io", "cloud-controller-manager"
	for question, want := range map[access]bool{
		{verb: "list",
			resource: "nodes"}: true,
		{verb: "patch", resource: "nodes",
			subresource: "status"}: true,
		{verb: "watch",
			resource: "services"}: true,
		{verb: "patch", resource: "services",
			subresource: "status"}: true,
		{verb: "create", resource: "events",
			namespace: "default"}: true,
		{verb: "create", group: "authentication.k8s.io",
			resource: "tokenreviews"}: true,
		{verb: "create", group: "authorization.k8s.io",
			resource: "subjectaccessreviews"}: true,
		{verb: "create", group: leases, resource: "leases",
			namespace: "kube-system"}: true,
		{verb: "update", group: leases, resource: "leases", namespace: "kube-system",
			name: lease}: true,
		{verb: "get", resource: "configmaps", namespace: "kube-system",
			name: "extension-apiserver-authentication"}: true,

		{verb: "update", group: leases, resource: "leases", namespace: "kube-system", name: "kube-scheduler"}: false,
		{verb: "update", group: leases, resource: "leases", namespace: "default", name: lease}:                false,
		{verb: "get", resource: "secrets", namespace: namespace}:                                              false,
		{verb: "list", resource: "configmaps"}:                                                                false,
		{verb: "create", resource: "nodes"}:                                                                   false,
		{verb: "delete", resource: "services", namespace: "default"}:                                          false,
		{verb: "update", resource: "services", namespace: "default"}:                                          false,
		{verb: "patch", resource: "services", namespace: "default"}:                                           false,
		{verb: "update", resource: "services", subresource: "status", namespace: "default"}:                   false,
		{verb: "update", resource: "events", namespace: "default"}:                                            false,
		{verb: "list", resource: "pods"}:                                                                      false,
		{verb: "create", resource: "serviceaccounts", subresource: "token", namespace: "kube-system"}:         false,
	} {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), question.review(namespace),
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != want {
			t.Errorf("%+v: allowed %v, want %v", question, review.Status.Allowed, want)
		}
	}
}

func (a access) review(namespace string) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + namespace + ":thalassa-ccm",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: a.verb, Group: a.group, Resource: a.resource, Subresource: a.subresource, Namespace: a.namespace,
			Name: a.name,
		},
	}}
}

// wantFinalizer adds and removes a finalizer as the service controller does:
// through the status, with no other right to write Services.
func wantFinalizer(t *testing.T, plane *controlplane.ControlPlane, namespace string) {
	t.Helper()
	services := controlplanetest.Client(t, plane).CoreV1().Services(namespace)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(plane.Config())
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":thalassa-ccm"
	account, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, finalizers := range []string{`["service.kubernetes.io/load-balancer-cleanup"]`, `[]`} {
		patch := []byte(`{"metadata":{"finalizers":` + finalizers + `}}`)
		patched, err := account.CoreV1().Services(namespace).Patch(t.Context(), service.Name, types.MergePatchType,
			patch, metav1.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%q", patched.Finalizers); got != finalizers {
			t.Errorf("finalizers %s, want %s", got, finalizers)
		}
	}
}

// TestExampleIsAccepted has the API server check the example without storing it.
func TestExampleIsAccepted(t *testing.T) {
	client := controlplanetest.Client(t, controlplanetest.Get(t))
	namespace := controlplanetest.Namespace(t)
	decoded, err := Decode(readCheckout(t, "examples/web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	deployment := find[*appsv1.Deployment](t, decoded, "web")
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, dryRun); err != nil {
		t.Error(err)
	}
	service := find[*corev1.Service](t, decoded, "web")
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), service, dryRun); err != nil {
		t.Error(err)
	}
}
