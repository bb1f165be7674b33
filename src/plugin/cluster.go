package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// header returns the beginning of a result.
func (s *settings) header(from *session, kind string) Header {
	h := Header{APIVersion: APIVersion, Kind: kind, PluginVersion: s.Build.Version}
	if from.inspection != nil {
		h.Cloud = from.inspection.Cloud.Name
	}
	if from.workload != nil {
		h.Workload, h.Version = from.workload.String(), from.workload.Version()
	}
	return h
}

// nameOf returns the name in an argument such as service/web or web.
func nameOf(argument string, kinds ...string) string {
	for _, kind := range kinds {
		if name, found := strings.CutPrefix(strings.ToLower(argument), kind+"/"); found {
			return name
		}
	}
	return argument
}

// sync starts the informers of the factory and waits until they are complete. The error contains why an object cannot
// be listed, such as a missing permission.
func sync(ctx context.Context, factory informers.SharedInformerFactory, wait func(context.Context) error,
	of ...cache.SharedIndexInformer) error {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, informer := range of {
		err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			stop(fmt.Errorf("reading from Kubernetes: %w", err)) // the first error counts
		})
		if err != nil {
			return fmt.Errorf("preparing to read from Kubernetes: %w", err)
		}
	}
	factory.StartWithContext(ctx)
	return wait(waiting)
}

// followKubeconfig changes to the cluster that --kubeconfig of the cloud controller manager names, if it has one.
func (s *session) followKubeconfig(clients func(*rest.Config) (kubernetes.Interface,
	dynamic.Interface, error)) error {
	name := s.inspection.Kubeconfig
	if name == "" {
		return nil
	}
	if s.mounted.Own() {
		return fmt.Errorf("--kubeconfig=%s of the cloud controller manager names another cluster: choose that "+
			"cluster with --context, and pass --ccm-flag=kubeconfig=", name)
	}
	content, err := s.readMounted(name)
	if err != nil {
		return fmt.Errorf("reading --kubeconfig=%s of the cloud controller manager: %w", name, err)
	}
	loaded, err := clientcmd.Load(content)
	if err != nil {
		return fmt.Errorf("--kubeconfig=%s of the cloud controller manager is not a kubeconfig", name)
	}
	if err := s.embed(loaded, path.Dir(name)); err != nil {
		return fmt.Errorf("using --kubeconfig=%s of the cloud controller manager: %w", name, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("using --kubeconfig=%s of the cloud controller manager: %w", name, err)
	}
	s.client, s.objects, err = clients(config)
	return err
}

// maxMounted is the largest size of a mounted file, in bytes.
const maxMounted = 1 << 20

// readMounted returns the content of a file of the workload.
func (s *session) readMounted(name string) ([]byte, error) {
	file, err := s.mounted.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxMounted))
}

// embed puts the files that a kubeconfig in a directory of the workload names into it. They are files of the workload,
// too: the kubeconfig cannot choose a program or a file of this computer.
func (s *session) embed(config *clientcmdapi.Config, directory string) error {
	embed := func(name *string, into *[]byte) error {
		if *name == "" || len(*into) > 0 { // the content takes precedence
			*name = ""
			return nil
		}
		file := *name
		if !path.IsAbs(file) {
			file = path.Join(directory, file)
		}
		content, err := s.readMounted(file)
		*name, *into = "", content
		return err
	}
	for name, user := range config.AuthInfos {
		if user.Exec != nil || user.AuthProvider != nil {
			return fmt.Errorf("its user %q needs a program that only the pod has", name)
		}
		var token []byte
		if err := errors.Join(embed(&user.TokenFile, &token), embed(&user.ClientCertificate,
			&user.ClientCertificateData), embed(&user.ClientKey, &user.ClientKeyData)); err != nil {
			return fmt.Errorf("reading the credentials of its user %q: %w", name, err)
		}
		if len(token) > 0 {
			user.Token = string(bytes.TrimSpace(token))
		}
	}
	for name, cluster := range config.Clusters {
		if err := embed(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData); err != nil {
			return fmt.Errorf("reading the certificate authority of its cluster %q: %w", name, err)
		}
	}
	return nil
}
