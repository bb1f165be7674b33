package controlplane

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane/pki"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users and groups below are the ones that Kubernetes' own bootstrap RBAC objects name.
const (
	adminUser      = "lab-admin"
	adminGroup     = "system:masters"
	controllerUser = "system:kube-controller-manager"
	schedulerUser  = "system:kube-scheduler"
	// kubeletClientUser is the API server, as kubelets see it.
	kubeletClientUser = "kube-apiserver-kubelet-client"

	// frontProxyUser is whom extension API servers, the secured metrics port of a cloud
	// controller manager among them, accept user names in headers from.
	frontProxyUser = "front-proxy-client"
)

// The files with certificates and keys, without .crt and .key.
const (
	clusterCA = "ca"
	serving   = "kube-apiserver"
	// kubeletClient is whom kubelets see when the API server asks them for logs and the like.
	kubeletClient = "kubelet-client"
	// frontProxyCA signs frontProxy, which the API server shows to extension API servers. One authority that also signs
	// users would let every user claim to be the front proxy.
	frontProxyCA = "front-proxy-ca"
	frontProxy   = "front-proxy-client"
	// tokens signs and verifies ServiceAccount tokens.
	tokens = "service-account"
)

// credentials is everything secret about one control plane, made anew for each.
type credentials struct {
	ca  *pki.Authority
	dir string
}

// newCredentials makes the credentials of an API server that is reached under hosts and writes
// the files its components read into dir.
func newCredentials(dir string, hosts []string) (*credentials, error) {
	ca, err := pki.NewAuthority("lab")
	if err != nil {
		return nil, err
	}
	front, err := pki.NewAuthority("lab-front-proxy")
	if err != nil {
		return nil, err
	}
	server, serverErr := ca.Server("kube-apiserver", hosts)
	kubelet, kubeletErr := ca.Client(kubeletClientUser, adminGroup)
	proxy, proxyErr := front.Client(frontProxyUser)
	key, keyErr := pki.NewKey()
	if err := errors.Join(serverErr, kubeletErr, proxyErr, keyErr); err != nil {
		return nil, err
	}
	for name, pair := range map[string]pki.Pair{
		clusterCA: ca.Pair(), serving: server, kubeletClient: kubelet, frontProxyCA: front.Pair(), frontProxy: proxy,
		tokens: key,
	} {
		if err := pair.Write(dir, name); err != nil {
			return nil, err
		}
	}
	return &credentials{ca, dir}, nil
}

// readCredentials returns the credentials that another process made in dir.
func readCredentials(dir string) (*credentials, error) {
	c := &credentials{dir: dir}
	pair := pki.Pair{}
	var certErr, keyErr error
	pair.Cert, certErr = os.ReadFile(c.cert(clusterCA))
	pair.Key, keyErr = os.ReadFile(c.key(clusterCA))
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("reading the authority of a control plane: %w", err)
	}
	var err error
	c.ca, err = pki.LoadAuthority(pair)
	return c, err
}

// cert and key are the paths of a file.
func (c *credentials) cert(name string) string { return filepath.Join(c.dir, name+".crt") }

func (c *credentials) key(name string) string { return filepath.Join(c.dir, name+".key") }

// config is how a user in the given groups reaches the API server.
func (c *credentials) config(server netip.AddrPort, user string, groups ...string) (*rest.Config, error) {
	pair, err := c.ca.Client(user, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: "https://" + server.String(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: c.ca.Pair().Cert, CertData: pair.Cert, KeyData: pair.Key,
		},
		// The server has its own flow control; a client that slows itself down only hides it.
		QPS: -1,
	}, nil
}

// WriteKubeconfig writes a kubeconfig to path that stands alone, so that it can be copied anywhere on the machine. It
// replaces the file in one step: a program that reads the file meanwhile sees the old or the new content.
func WriteKubeconfig(path string, c *rest.Config) error {
	const name = "lab"
	k := clientcmdapi.NewConfig()
	k.Clusters[name] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	k.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	k.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	k.CurrentContext = name
	content, err := clientcmd.Write(*k)
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig %q: %w", path, err)
	}
	if err := renameio.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}

// kubeconfig writes the kubeconfig of a user and returns its path.
func (c *credentials) kubeconfig(server netip.AddrPort, user string) (string, error) {
	config, err := c.config(server, user)
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.dir, strings.TrimPrefix(user, "system:")+".kubeconfig")
	return path, WriteKubeconfig(path, config)
}

// servingHosts lists the names and addresses that clients inside and outside the cluster use for
// the API server: the first address of every Service range belongs to the Service "kubernetes".
func servingHosts(addr netip.Addr, serviceCIDR string) ([]string, error) {
	hosts := []string{
		addr.String(), "127.0.0.1", "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	for cidr := range strings.SplitSeq(serviceCIDR, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(cidr))
		if err != nil {
			return nil, fmt.Errorf("reading the Service range %q: %w", serviceCIDR, err)
		}
		hosts = append(hosts, prefix.Masked().Addr().Next().String())
	}
	return hosts, nil
}
