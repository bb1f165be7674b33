package managed

import (
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// waitTimeout bounds every wait.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// cluster is a control plane, seen by its administrator.
type cluster struct {
	plane  *controlplane.ControlPlane
	client kubernetes.Interface
}

func newCluster(t *testing.T, plane *controlplane.ControlPlane) *cluster {
	t.Helper()
	return &cluster{plane, controlplanetest.Client(t, plane)}
}

// hostingCluster is the provider's.
func hostingCluster(t *testing.T) *cluster {
	t.Helper()
	return newCluster(t, controlplanetest.Get(t))
}

// servedCluster is the one that others use. It has other certificate authorities.
func servedCluster(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, controlplanetest.Start(t, nil))
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}
	if _, err := c.client.CoreV1().ServiceAccounts("kube-system").Create(t.Context(), made,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// makeNamespace makes the namespace of the served cluster's control plane.
func (*cluster) makeNamespace(t *testing.T) string {
	t.Helper()
	return controlplanetest.Namespace(t)
}

func (c *cluster) makeSecret(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	if _, err := c.client.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// token is what the program shows the cluster.
func (c *cluster) token(t *testing.T) string {
	t.Helper()
	review, err := c.client.CoreV1().ServiceAccounts("kube-system").CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Token
}

// kubeconfig is the Secret's content: the token is a file beside the kubeconfig, as the guide says.
func (c *cluster) kubeconfig(t *testing.T) map[string]string {
	t.Helper()
	admin := c.plane.Config()
	config := clientcmdapi.NewConfig()
	config.Clusters["served"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["ccm"] = &clientcmdapi.AuthInfo{TokenFile: "token"}
	config.Contexts["served"] = &clientcmdapi.Context{Cluster: "served", AuthInfo: "ccm"}
	config.CurrentContext = "served"
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"kubeconfig": string(text), "token": c.token(t)}
}
