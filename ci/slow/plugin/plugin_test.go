package plugin

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/schematest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

const (
	system   = metav1.NamespaceSystem
	operator = "operator" // the service account of the person
	person   = "system:serviceaccount:" + system + ":" + operator
	// credentials is the name of the Secret of the cloud.
	credentials = "thalassa-credentials"
)

// rig is a cluster with the chart and a Service, and a person with the documented permissions. No pod runs.
type rig struct {
	*testing.T
	plane      *controlplane.ControlPlane
	cluster    kubernetes.Interface
	cloud      cloud.Cloud
	program    string
	kubeconfig string
	token      string // of the person
	secret     string // the credentials of the cloud
	// plant makes what the existing cloud controller manager leaves in the cloud for a Service.
	plant func(*corev1.Service)
	// objects returns the names of the load balancers in the cloud, and of what belongs to them, sorted.
	objects func() []string
}

// begin returns a cluster of its own with a person, and without a cloud.
func begin(t *testing.T) *rig {
	t.Helper()
	// The garbage collector would delete some of what the plugin is to delete, once it knows the kinds of IronCore.
	plane := controlplanetest.Start(t, map[string][]string{
		controlplane.ControllerManager: {"--controllers=*,-garbage-collector-controller"}})
	r := &rig{T: t, plane: plane, program: filepath.Join(t.TempDir(), "kubectl-thalassa"),
		kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	r.cluster = controlplanetest.Client(t, r.plane)
	r.must(os.Symlink(host.Program(t), r.program))
	r.addOperator()
	return r
}

// inhabit adds the Node worker and the Service web.
func (r *rig) inhabit(providerID string) {
	r.Helper()
	_, err := r.cluster.CoreV1().Nodes().Create(r.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"},
		Spec: corev1.NodeSpec{ProviderID: providerID}}, metav1.CreateOptions{})
	r.must(err)
	_, err = r.cluster.CoreV1().Services("default").Create(r.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
	r.must(err)
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// install installs the chart with a Secret that has a key.
func (r *rig) install(key, secret string, values map[string]any) {
	r.Helper()
	_, err := r.cluster.CoreV1().Secrets(system).Create(r.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: credentials}, StringData: map[string]string{key: secret},
	}, metav1.CreateOptions{})
	r.must(err)
	_, err = chart.Install(r.Context(), r.plane.Config(), checkout.Path(r, "charts/thalassa-ccm"),
		chart.Release{Name: "thalassa-ccm", Namespace: system, Values: values}, nil)
	r.must(err)
}

// addOperator grants the permissions of the example, which are those that the help of the commands names, and gets a
// token.
func (r *rig) addOperator() {
	r.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: operator}}
	_, err := r.cluster.CoreV1().ServiceAccounts(system).Create(r.Context(), account, metav1.CreateOptions{})
	r.must(err)
	example, err := os.ReadFile(checkout.Path(r, "examples/kubectl-thalassa.yaml"))
	r.must(err)
	anywhere, here, _ := strings.Cut(string(example), "\n---\n")
	var clusterRole rbacv1.ClusterRole
	r.must(yaml.UnmarshalStrict([]byte(anywhere), &clusterRole))
	var role rbacv1.Role
	r.must(yaml.UnmarshalStrict([]byte(here), &role))
	rbac := r.cluster.RbacV1()
	_, err = rbac.ClusterRoles().Create(r.Context(), &clusterRole, metav1.CreateOptions{})
	r.must(err)
	_, err = rbac.Roles(system).Create(r.Context(), &role, metav1.CreateOptions{})
	r.must(err)
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: system, Name: operator}}
	_, err = rbac.ClusterRoleBindings().Create(r.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operator}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole.Name},
	}, metav1.CreateOptions{})
	r.must(err)
	_, err = rbac.RoleBindings(system).Create(r.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operator}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}, metav1.CreateOptions{})
	r.must(err)
	token, err := r.cluster.CoreV1().ServiceAccounts(system).CreateToken(r.Context(), operator,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	r.must(err)
	r.token = token.Status.Token
	r.must(controlplane.WriteKubeconfig(r.kubeconfig, rest.AnonymousClientConfig(r.plane.Config())))
}

// permitSecret lets the person read another Secret. The comment in the example says that it has to be named.
func (r *rig) permitSecret(name string) {
	r.Helper()
	roles := r.cluster.RbacV1().Roles(system)
	role, err := roles.Get(r.Context(), "kubectl-thalassa", metav1.GetOptions{})
	r.must(err)
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].Resources, "secrets") {
			role.Rules[i].ResourceNames = append(role.Rules[i].ResourceNames, name)
		}
	}
	_, err = roles.Update(r.Context(), role, metav1.UpdateOptions{})
	r.must(err)
}

// command is kubectl thalassa with arguments.
func (r *rig) command(ctx context.Context, args ...string) *exec.Cmd {
	r.Helper()
	cmd := exec.CommandContext(ctx, r.program, append(args, "--token="+r.token)...)
	cmd.Env = []string{"KUBECONFIG=" + r.kubeconfig, "HOME=" + r.TempDir()}
	return cmd
}

// run runs kubectl thalassa. It returns both outputs and the exit code.
func (r *rig) run(args ...string) (output string, code int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	cmd := r.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code, err = failed.ExitCode(), nil
	}
	r.must(err)
	output = out.String() + errs.String()
	for _, secret := range r.secrets() {
		if strings.Contains(output, secret) {
			r.Errorf("%v prints the secret %q:\n%s", args, secret, output)
		}
	}
	schematest.Require(r, args, out.String())
	return output, code
}

// secrets are the tokens of the cloud and of the person, as they are and in the ways in which programs write them.
func (r *rig) secrets() []string {
	var all []string
	for _, token := range []string{r.secret, r.token} {
		all = append(all, token, base64.StdEncoding.EncodeToString([]byte(token)), hex.EncodeToString([]byte(token)))
	}
	return all
}
