package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

const (
	// pollEvery is how often a condition of the start is checked; all checks are cheap.
	pollEvery = 50 * time.Millisecond

	// answerLimit bounds one check, so that a server that accepts connections and says nothing is
	// asked again.
	answerLimit = 5 * time.Second
)

// await calls check until it returns nil. It fails at once when a component has ended.
func (c *ControlPlane) await(ctx context.Context, what string, check func(context.Context) error) error {
	limits := poll.Limits{Every: pollEvery, For: startLimit}
	err := limits.Until(ctx, what+" is ready", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		err := check(ctx)
		if ended := c.Err(); err != nil && ended != nil {
			return poll.Final(ended)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w; logs are in %q", err, c.layout.logs)
	}
	return nil
}

// etcdListens saves the API server a failed attempt, after which it would wait for a second.
func (c *ControlPlane) etcdListens(context.Context) error {
	_, err := os.Stat(filepath.Join(c.layout.etcd, etcdSocket))
	return err
}

// probe asks the API server whether the cluster is usable.
type probe struct{ client kubernetes.Interface }

// newProbe returns a probe and a function that closes its connections.
func newProbe(config *rest.Config) (*probe, func(), error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing TLS for the API server: %w", err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, nil, fmt.Errorf("preparing a client of the API server: %w", err)
	}
	return &probe{client}, transport.CloseIdleConnections, nil
}

func (p *probe) serverReady(ctx context.Context) error {
	body, err := p.client.Discovery().RESTClient().Get().AbsPath("/readyz").Param("verbose", "").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, body)
	}
	return nil
}

// clusterReady reports what every user of a cluster takes for granted: Services get addresses,
// extension API servers can authenticate, and pods of the first namespaces can be created.
func (p *probe) clusterReady(ctx context.Context) error {
	if _, err := p.client.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes",
		metav1.GetOptions{}); err != nil {
		return err
	}
	trust, err := p.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "extension-apiserver-authentication",
		metav1.GetOptions{})
	if err != nil {
		return err
	}
	if trust.Data["requestheader-client-ca-file"] == "" {
		return errors.New("the ConfigMap extension-apiserver-authentication names no request-header authority yet")
	}
	for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespaceDefault} {
		if err := p.namespaceReady(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// namespaceReady reports whether pods can be created in a namespace and reach the API server.
func (p *probe) namespaceReady(ctx context.Context, namespace string) error {
	if _, err := p.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	_, err := p.client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	return err
}
