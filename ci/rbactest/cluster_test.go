package rbactest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/authority"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// waitTimeout bounds every wait.
const waitTimeout = 90 * time.Second

// chartDir is the folder of the chart.
func chartDir(tb testing.TB) string {
	tb.Helper()
	return checkout.Path(tb, "charts/thalassa-ccm")
}

// cluster is a control plane that no other test has meanwhile, an emulated cloud, and who signs certificates of those
// that read metrics.
type cluster struct {
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	cloud   cloud.Cloud
	clients authority.Authority
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	plane := controlplanetest.Own(t)
	return &cluster{plane, controlplanetest.Client(t, plane), cloud.Start(t, emulator.DefaultSeed()), authority.New(t)}
}

// reset makes the next installation like the first one in the cluster: there is no event about credentials, and the
// accounts that Kubernetes' own controllers do not use do not exist.
func (c *cluster) reset(t *testing.T) {
	t.Helper()
	core := c.client.CoreV1()
	err := core.Events(metav1.NamespaceSystem).DeleteCollection(t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "reason=" + eventReloaded})
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{"cloud-provider-thalassa", "service-controller"} {
		err = core.ServiceAccounts(metav1.NamespaceSystem).Delete(t.Context(), account, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// values are those of a quick cloud, in which everything is reconciled every second, and what change adds.
func (c *cluster) values(t *testing.T, change string) map[string]any {
	t.Helper()
	text := fmt.Sprintf(`
cloudConfig:
  organisation: %s
  vpcIdentity: %s
  cluster: rbac
  endpoint: %s
  loadBalancer: {creationPollInterval: 1, driftPeriod: 1}
  instancesV2: {removalGracePeriod: 1}
advanced: {inventory: {machineAge: 1, balancerAge: 1}}
credentials: {existingSecret: cloud}
extraArgs: {node-monitor-period: 1s, node-status-update-frequency: 1s}
`, emulator.DefaultOrganisation, emulator.DefaultVPC, c.cloud.URL)
	values, more := map[string]any{}, map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(change), &more); err != nil {
		t.Fatal(err)
	}
	return chartutil.MergeTables(more, values) // the first wins
}

// render returns what the chart makes of values.
func render(t *testing.T, values map[string]any) []runtime.Object {
	t.Helper()
	objects, err := charttest.Decode(manifest(t, values))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func manifest(t *testing.T, values map[string]any) string {
	t.Helper()
	text, _, err := chart.Render(t.Context(), chartDir(t), chart.Release{Name: "thalassa-ccm",
		Namespace: metav1.NamespaceSystem, Values: values})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// permit stores the roles, bindings and accounts among the objects until the test ends.
func (c *cluster) permit(t *testing.T, objects []runtime.Object) {
	t.Helper()
	ctx, rbac := t.Context(), c.client.RbacV1()
	after := context.WithoutCancel(ctx)
	for _, object := range objects {
		var err error
		var undo func() error
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			_, err = rbac.ClusterRoles().Create(ctx, o, metav1.CreateOptions{})
			undo = func() error { return rbac.ClusterRoles().Delete(after, o.Name, metav1.DeleteOptions{}) }
		case *rbacv1.ClusterRoleBinding:
			_, err = rbac.ClusterRoleBindings().Create(ctx, o, metav1.CreateOptions{})
			undo = func() error { return rbac.ClusterRoleBindings().Delete(after, o.Name, metav1.DeleteOptions{}) }
		case *rbacv1.Role:
			_, err = rbac.Roles(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
			undo = func() error { return rbac.Roles(o.Namespace).Delete(after, o.Name, metav1.DeleteOptions{}) }
		case *rbacv1.RoleBinding:
			_, err = rbac.RoleBindings(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
			undo = func() error { return rbac.RoleBindings(o.Namespace).Delete(after, o.Name, metav1.DeleteOptions{}) }
		case *corev1.ServiceAccount: // they stay: Kubernetes has some of them, too
			_, err = c.client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
			c.tolerate(t, err)
			continue
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := undo(); err != nil {
				t.Error(err)
			}
		})
	}
}

// tolerate fails the test unless the object is there now.
func (c *cluster) tolerate(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// reader is what a client of the metrics shows: a token, a certificate or nothing.
type reader struct {
	token       string
	certificate *tls.Certificate
}

// readMetrics asks the program for its metrics, and returns the status of the answer and what it says.
func readMetrics(ctx context.Context, address string, who reader) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	if err != nil {
		return 0, "", err
	}
	config := &tls.Config{InsecureSkipVerify: true}
	if who.token != "" {
		request.Header.Set("Authorization", "Bearer "+who.token)
	}
	if who.certificate != nil {
		config.Certificates = []tls.Certificate{*who.certificate}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// subjectToken is a token that the cloud takes for one of its own.
func (c *cluster) subjectToken(t *testing.T) string {
	t.Helper()
	token, err := c.cloud.SubjectToken("", "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// byHand calls the cloud as a user does who changes things by hand.
func (c *cluster) byHand(t *testing.T, method, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.cloud.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	request.Header.Set("X-Organisation-Identity", emulator.DefaultOrganisation)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(response.Body)
		t.Fatalf("%s %s by hand: %s: %s", method, path, response.Status, text)
	}
}
