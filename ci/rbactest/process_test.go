package rbactest

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/thalassa-cloud/thalassa-ccm/ci/authority"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

// pod is the program as kubelet would run it: from the rendered workload, with its files in a directory.
type pod struct {
	spec   corev1.PodSpec
	root   string // in place of /
	args   []string
	env    []string
	listen string // host:port of the HTTPS port
	// program is the executable.
	program string
}

// podTemplate returns the one workload among the objects.
func podTemplate(t *testing.T, objects []runtime.Object) corev1.PodSpec {
	t.Helper()
	for _, object := range objects {
		switch workload := object.(type) {
		case *appsv1.DaemonSet:
			return workload.Spec.Template.Spec
		case *appsv1.Deployment:
			return workload.Spec.Template.Spec
		}
	}
	t.Fatal("no workload is rendered")
	return corev1.PodSpec{}
}

// newPod writes the files of the pod and returns what is run with them.
func newPod(t *testing.T, program string, objects []runtime.Object, account *rest.Config,
	clients authority.Authority) *pod {
	t.Helper()
	p := &pod{spec: podTemplate(t, objects), root: t.TempDir(), listen: host.FreeAddress(t), program: program}
	container := p.spec.Containers[0]
	kubeconfig := filepath.Join(p.root, "kubeconfig")
	writeKubeconfig(t, kubeconfig, account)
	for _, object := range objects {
		if configMap, ok := object.(*corev1.ConfigMap); ok {
			p.write(t, p.mount("config"), configMap.Data)
		}
	}
	p.write(t, p.mount("credentials"), map[string]string{"clientID": emulator.DefaultClientID,
		"clientSecret": emulator.DefaultClientSecret})
	p.write(t, p.mount("client-ca"), map[string]string{"ca.crt": clients.PEM()})
	host, port, _ := net.SplitHostPort(p.listen)
	set := map[string]string{"bind-address": host, "secure-port": port}
	for _, flag := range []string{"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"} {
		set[flag] = kubeconfig
	}
	for _, arg := range container.Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if _, ours := set[name]; !ours {
			set[name] = p.path(value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		p.args = append(p.args, "--"+name+"="+set[name])
	}
	p.env = []string{"HOME=" + p.root, "POD_NAME=thalassa-ccm-0", "POD_NAMESPACE=kube-system",
		"POD_UID=6f2f8a1c-0000-4000-8000-000000000001", "HOST_IP=" + host}
	return p
}

// mount is where the program sees a volume of the pod.
func (p *pod) mount(volume string) string {
	for _, mount := range p.spec.Containers[0].VolumeMounts {
		if mount.Name == volume {
			return mount.MountPath
		}
	}
	return "/nowhere/" + volume
}

// path replaces the mount paths in text by those of the files that stand for them.
func (p *pod) path(text string) string {
	for _, folder := range []string{"/etc/thalassa-ccm/", "/var/run/secrets/thalassa/"} {
		text = strings.ReplaceAll(text, folder, p.root+folder)
	}
	return text
}

// write writes the files of a volume.
func (p *pod) write(t *testing.T, mount string, data map[string]string) {
	t.Helper()
	dir := filepath.Join(p.root, mount)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for key, text := range data {
		if err := os.WriteFile(filepath.Join(dir, key), []byte(p.path(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// start runs the program until the function it returns is called, or the test ends.
func (p *pod) start(t *testing.T) (stop func()) {
	t.Helper()
	running, err := process.Start(t.Context(), process.Spec{
		Name: programName, Path: p.program, Args: p.args, Env: p.env, LogPath: filepath.Join(p.root, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of its log:\n%s", running.Tail())
		}
	})
	return func() {
		if err := running.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	}
}

// identity is how a ServiceAccount reaches the API server; it is made if it does not exist.
func (c *cluster) identity(t *testing.T, namespace, name string) *rest.Config {
	t.Helper()
	accounts := c.client.CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	c.tolerate(t, err)
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.plane.Config())
	config.BearerToken = token.Status.Token
	return config
}

// writeKubeconfig writes a file that says what in-cluster configuration would.
func writeKubeconfig(t *testing.T, path string, config *rest.Config) {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	k.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	k.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	k.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(fmt.Errorf("writing the program's kubeconfig: %w", err))
	}
}
