// Package kubeconfig reads the access to the IronCore API from a kubeconfig.
//
// Only the file in --ironcore-kubeconfig counts: no environment variable, no file in the home folder, and not the
// service account of the pod. As in client-go, a user may have certificates, a token, a file with a token, a password,
// or an exec plugin, whose program must be in the container. Users with an auth provider are refused by client-go,
// unless the provider is compiled in; none is.
package kubeconfig

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// flagName is the flag with the path of the file.
const flagName = "--ironcore-kubeconfig"

// Access is what a kubeconfig says about the API server, and how to authenticate to it. It contains the content of all
// files that the kubeconfig refers to, so that a later change of them has no effect on it.
type Access struct {
	// Config has no timeout, because it would end watches, too.
	Config *rest.Config
	// Namespace contains the objects of the cluster.
	Namespace string

	context string
	sum     [sha256.Size]byte // of the content of all files
}

// String identifies the access without secrets.
func (a Access) String() string {
	if a.Config == nil {
		return "no access"
	}
	return fmt.Sprintf("context %q for %s", a.context, a.Config.Host)
}

// GoString is String, so that no secret is printed.
func (a Access) GoString() string { return a.String() }

// Same reports whether two kubeconfigs and the files that they refer to have the same content.
func Same(a, b Access) bool { return a.sum == b.sum }

// Options are the settings that are not in the kubeconfig.
type Options struct {
	// Path is the value of --ironcore-kubeconfig.
	Path string
	// Namespace takes precedence over the namespace of the context; it may be empty.
	Namespace string
	// UserAgent names the program and its version to the API server.
	UserAgent string
	// Environment contains the files. Exec plugins are refused in an environment that is not this process's own.
	Environment cloud.Environment
	// RequestsPerSecond and Burst limit the requests of the process; 0 are client-go's defaults.
	RequestsPerSecond, Burst int
}

// Load reads a kubeconfig and the files that it refers to. Relative paths begin at the folder of the kubeconfig. Only
// the current context counts. It sends no request, and runs no exec plugin. The error contains no secrets.
func Load(o Options) (Access, error) {
	if o.Path == "" {
		return Access{}, errors.New("missing " + flagName + ": pass the path of a kubeconfig for the IronCore API")
	}
	access, err := load(o)
	if err != nil {
		return Access{}, fmt.Errorf("reading %s=%s: %w", flagName, o.Path, err)
	}
	return access, nil
}

func load(o Options) (Access, error) {
	file, err := parse(o.Environment, o.Path)
	if err != nil {
		return Access{}, err
	}
	current, err := currentOf(file)
	if err != nil {
		return Access{}, err
	}
	if o.Namespace == "" {
		o.Namespace = current.Contexts[current.CurrentContext].Namespace
	}
	if o.Namespace == "" {
		return Access{}, fmt.Errorf("the context %q has no namespace, so it is not known which namespace contains the "+
			"objects of the cluster: set it in the context (kubectl config set-context --current --namespace=NAME), "+
			"or set the key namespace in the file of --cloud-config", current.CurrentContext)
	}
	if err := inline(o.Environment, current); err != nil {
		return Access{}, err
	}
	sum, err := sumOf(current)
	if err != nil {
		return Access{}, err
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*current, current.CurrentContext,
		&clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return Access{}, fmt.Errorf("the context %q cannot be used: %w", current.CurrentContext, err)
	}
	config.UserAgent, config.QPS, config.Burst = o.UserAgent, float32(o.RequestsPerSecond), o.Burst
	return Access{Config: config, Namespace: o.Namespace, context: current.CurrentContext, sum: sum}, nil
}

// sumOf is a checksum of a kubeconfig without references to files.
func sumOf(config *api.Config) ([sha256.Size]byte, error) {
	text, err := clientcmd.Write(*config)
	if err != nil {
		return [sha256.Size]byte{}, errors.New("it cannot be written as YAML again: " +
			"use a kubeconfig that kubectl config view accepts")
	}
	return sha256.Sum256(text), nil
}
