package controlplane

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Extension is an API server that is made with k8s.io/apiserver and has its objects in etcd. The API server of the
// control plane passes requests for its groups on to it (the aggregation layer).
type Extension struct {
	// Name is that of its log file, of its Service in kube-system, and in Options.Flags. Path is its executable.
	Name, Path string
	// Groups are the groups that it serves.
	Groups []schema.GroupVersion
}

// Runs reports whether Extend or Manage has started a program with a name.
func (c *ControlPlane) Runs(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.components, func(p *component) bool { return p.name == name })
}

// Extend starts an extension API server as a component, and waits until its groups are served. It authenticates and
// authorizes through the API server, to which it is an administrator, and shares its etcd.
func (c *ControlPlane) Extend(ctx context.Context, e Extension) error {
	if c.options.Dir == "" {
		return fmt.Errorf("extending a control plane by %s: another process has started it: start one of this process",
			e.Name)
	}
	at, err := c.extensionAddress()
	if err != nil {
		return fmt.Errorf("extending a control plane by %s: %w", e.Name, err)
	}
	for _, step := range []func(context.Context, Extension, netip.AddrPort) error{c.startExtension, c.aggregate} {
		if err := step(ctx, e, at); err != nil {
			return fmt.Errorf("extending a control plane by %s: %w", e.Name, err)
		}
	}
	return nil
}

// Manage starts a program as a component that is an administrator of the control plane: it gets the flag --kubeconfig
// beside others.
func (c *ControlPlane) Manage(ctx context.Context, name, path string, flags ...string) error {
	kubeconfig, err := c.adminKubeconfig(name)
	if err == nil {
		err = c.startProgram(ctx, name, []string{path}, append([]string{"--kubeconfig=" + kubeconfig}, flags...))
	}
	if err != nil {
		return fmt.Errorf("starting %s beside a control plane: %w", name, err)
	}
	return nil
}

// extensionAddress returns where an extension listens. A port next to one that was given is not checked either.
func (c *ControlPlane) extensionAddress() (netip.AddrPort, error) {
	if c.options.Port != 0 {
		return netip.AddrPortFrom(c.options.Address, c.options.Port+1), nil
	}
	return c.reserve()
}

// adminKubeconfig writes the kubeconfig of a program that is an administrator.
func (c *ControlPlane) adminKubeconfig(name string) (path string, err error) {
	config, err := c.credentials.config(c.layout.server, name, adminGroup)
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.layout.certs, name+".kubeconfig")
	return path, WriteKubeconfig(path, config)
}

// host is the name of an extension in its certificate: that of its Service.
func (e Extension) host() string { return e.Name + "." + metav1.NamespaceSystem + ".svc" }

func (c *ControlPlane) startExtension(ctx context.Context, e Extension, at netip.AddrPort) error {
	pair, err := c.credentials.ca.Server(e.Name, []string{e.host()})
	if err == nil {
		err = pair.Write(c.layout.certs, e.Name)
	}
	if err != nil {
		return err
	}
	kubeconfig, err := c.adminKubeconfig(e.Name)
	if err != nil {
		return err
	}
	return c.startProgram(ctx, e.Name, []string{e.Path}, []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=" + at.Addr().String(), "--secure-port=" + strconv.Itoa(int(at.Port())),
		"--permit-port-sharing", // see package port
		"--tls-cert-file=" + c.credentials.cert(e.Name), "--tls-private-key-file=" + c.credentials.key(e.Name),
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--enable-priority-and-fairness=false",
		"--profiling=false",
	})
}

// aggregate makes the API server pass requests on to an extension, and waits until it does.
func (c *ControlPlane) aggregate(ctx context.Context, e Extension, at netip.AddrPort) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return fmt.Errorf("preparing a client of the API server: %w", err)
	}
	// It has an address outside of the cluster.
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: e.Name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeExternalName, ExternalName: at.Addr().String()}}
	_, err = client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the Service of the extension: %w", err)
	}
	registrations, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return fmt.Errorf("preparing a client of the API server: %w", err)
	}
	services := registrations.Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	for _, group := range e.Groups {
		_, err := services.Create(ctx, e.registration(group, at, c.credentials.ca.Pair().Cert), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("registering the group %s: %w", group, err)
		}
	}
	for _, group := range e.Groups {
		err := c.await(ctx, "the group "+group.String(), func(ctx context.Context) error {
			path := "/apis/" + group.String()
			return client.CoreV1().RESTClient().Get().AbsPath(path).Do(ctx).Error() // by the extension
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// registration is the APIService of a group.
func (e Extension) registration(group schema.GroupVersion, at netip.AddrPort, ca []byte) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": group.Version + "." + group.Group},
		"spec": map[string]any{
			"group": group.Group, "version": group.Version, "caBundle": base64.StdEncoding.EncodeToString(ca),
			"groupPriorityMinimum": int64(2000), "versionPriority": int64(100),
			"service": map[string]any{"namespace": metav1.NamespaceSystem, "name": e.Name, "port": int64(at.Port())},
		},
	}}
}
