package managed

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// user is who the program is in the served cluster when it comes with a certificate.
const user = "cloud-controller-manager"

// TestManagedOverlays applies kustomize/overlays/managed-tenant to the served cluster and kustomize/overlays/managed to
// the hosting one, each after editing its one file. The program holds a certificate of the served cluster, and serves
// that.
func TestManagedOverlays(t *testing.T) {
	hosting, served := hostingCluster(t), servedCluster(t)
	thalassa := cloud.Start(t, emulator.DefaultSeed())
	namespace := hosting.makeNamespace(t)
	hosting.startNode(t)
	machine := served.addNode(t, thalassa, "worker")

	tree := overlay.New(t)
	tree.Permit(t, "managed-tenant", user)
	served.apply(t, "", tree.Build(t, overlay.Dir("managed-tenant")))

	hosting.makeSecret(t, namespace, "tenant-kubeconfig", map[string]string{"kubeconfig": served.userKubeconfig(t)})
	hosting.makeSecret(t, namespace, "thalassa-credentials",
		map[string]string{"personalAccessToken": emulator.DefaultToken})
	tree.Say(t, "managed", map[string]string{
		"organisation": emulator.DefaultOrganisation, "vpcIdentity": emulator.DefaultVPC,
		"cluster": "served\nendpoint: " + thalassa.URL,
	})
	// Other processes of this machine may have the port on its other addresses.
	tree.Change(t, "kustomize/base/managed/deployment.yaml", "--bind-address=0.0.0.0", "--bind-address="+hostAddress)
	hosting.apply(t, namespace, tree.Build(t, overlay.Dir("managed")))

	controlplanetest.Eventually(t, waitTimeout, "the served cluster's node is initialised",
		func(ctx context.Context) error {
			if err := served.initialised(ctx, machine); err != nil {
				return fmt.Errorf("%w; %s", err, hosting.trouble(ctx, namespace))
			}
			return nil
		})
	t.Run("load balancer", func(t *testing.T) {
		served.wantBalancer(t, thalassa, func() { hosting.wantPlugin(t, namespace) })
	})
	t.Run("lease", func(t *testing.T) { wantLeaseIn(t, served.client, hosting.client) })
	t.Run("permissions", func(t *testing.T) { hosting.wantNoPermissions(t, namespace) })
}

// apply is `kubectl apply --namespace`. What was applied is deleted when the test ends.
func (c *cluster) apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	kube := kubectl.New(c.plane.Kubeconfig()).In(namespace)
	t.Cleanup(func() {
		if _, err := kube.Delete(manifest); err != nil {
			t.Error(err)
		}
	})
	if output, err := kube.Apply(manifest); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// userKubeconfig is that of a user whose certificate the served cluster has signed, as the guide says.
func (c *cluster) userKubeconfig(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: user}}, key)
	if err != nil {
		t.Fatal(err)
	}
	admin := c.plane.Config()
	config := clientcmdapi.NewConfig()
	config.Clusters["served"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["ccm"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: c.signed(t, request),
		ClientKeyData:         pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}),
	}
	config.Contexts["served"] = &clientcmdapi.Context{Cluster: "served", AuthInfo: "ccm"}
	config.CurrentContext = "served"
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// signed asks the cluster for a certificate, and is the administrator who approves.
func (c *cluster) signed(t *testing.T, request []byte) []byte {
	t.Helper()
	requests := c.client.CertificatesV1().CertificateSigningRequests()
	made, err := requests.Create(t.Context(), &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "ccm-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "a test",
	}}
	if _, err := requests.UpdateApproval(t.Context(), made.Name, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	var certificate []byte
	controlplanetest.Eventually(t, waitTimeout, "the certificate is signed", func(ctx context.Context) error {
		now, err := requests.Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if certificate = now.Status.Certificate; len(certificate) == 0 {
			return fmt.Errorf("its status is %+v", now.Status)
		}
		return nil
	})
	return certificate
}

// wantBalancer wants a Service of the cluster to get the address of a load balancer, which goes with the Service. The
// function is called in between.
func (c *cluster) wantBalancer(t *testing.T, thalassa cloud.Cloud, between func()) {
	t.Helper()
	services := c.client.CoreV1().Services("default")
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web",
			Annotations: map[string]string{"loadbalancer.k8s.thalassa.cloud/type": "public"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	controlplanetest.Eventually(t, waitTimeout, "the Service has the address of its load balancer",
		func(ctx context.Context) error {
			now, err := services.Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			balancers := thalassa.State().LoadBalancers
			if len(balancers) != 1 || len(balancers[0].Addresses) == 0 || len(balancers[0].Listeners) != 1 ||
				len(balancers[0].Listeners[0].Targets) != 1 {
				return fmt.Errorf("the cloud has %+v", balancers)
			}
			ingress := now.Status.LoadBalancer.Ingress
			if len(ingress) == 0 || ingress[0].IP != balancers[0].Addresses[0] {
				return fmt.Errorf("the Service has %+v, the load balancer %q", ingress, balancers[0].Addresses)
			}
			return nil
		})
	between()
	if err := services.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	controlplanetest.Eventually(t, waitTimeout, "Service and load balancer are gone", func(ctx context.Context) error {
		_, err := services.Get(ctx, "web", metav1.GetOptions{})
		if left := thalassa.State(); !apierrors.IsNotFound(err) || len(left.LoadBalancers)+len(left.TargetGroups) > 0 {
			return fmt.Errorf("the Service gives %w, the cloud has %+v", err, left)
		}
		return nil
	})
}
