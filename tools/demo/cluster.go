package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

const (
	// stepTimeout bounds the wait for one step of the story.
	stepTimeout = 90 * time.Second
	// explainLines is how much of a log is shown when something went wrong.
	explainLines = 15
	// fieldManager is the field manager of the demo's objects.
	fieldManager = "thalassa-ccm-demo"
)

// cluster is where the story happens.
type cluster struct {
	config *rest.Config
	client kubernetes.Interface

	kubeconfig      string // path; empty for the user's own cluster
	systemNamespace string // where the chart is installed
	webNamespace    string // where the Service is
	external        bool   // the cluster is the user's own
	ccmLog          string // path of the cloud controller manager's log, once it runs
}

func newCluster(config *rest.Config) (*cluster, error) {
	// The demo waits by polling often; the client's own limit would make it slow.
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing a client of Kubernetes: %w", err)
	}
	return &cluster{config: config, client: client}, nil
}

// create creates an object of the example.
func (c *cluster) create(ctx context.Context, object runtime.Object) (err error) {
	options := metav1.CreateOptions{FieldManager: fieldManager}
	switch object := object.(type) {
	case *appsv1.Deployment:
		c.place(object)
		_, err = c.client.AppsV1().Deployments(c.webNamespace).Create(ctx, object, options)
	case *corev1.Service:
		_, err = c.client.CoreV1().Services(c.webNamespace).Create(ctx, object, options)
	default:
		err = fmt.Errorf("a %T is neither a Deployment nor a Service", object)
	}
	return err
}

// until waits until check says true. An error of check is kept, and check is called again: clusters and clouds have bad
// moments. what completes the sentence "waiting until …".
func until(ctx context.Context, what string, check func(context.Context) (bool, error)) error {
	last := errors.New("it is not so")
	return poll.Limits{Every: pollInterval, For: stepTimeout}.Until(ctx, what, func(ctx context.Context) error {
		done, err := check(ctx)
		if done && err == nil {
			return nil
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		return last
	})
}

// initialised reports whether the cloud controller manager is done with the node.
func initialised(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
			return false
		}
	}
	return node.Spec.ProviderID != "" && slices.ContainsFunc(node.Status.Addresses,
		func(address corev1.NodeAddress) bool {
			return address.Type == corev1.NodeInternalIP
		})
}

// describeNode is what the cloud controller manager wrote to a Node.
func describeNode(node *corev1.Node) string {
	var addresses []string
	for _, address := range node.Status.Addresses {
		addresses = append(addresses, fmt.Sprintf("%s %s", address.Type, address.Address))
	}
	return fmt.Sprintf("providerID %s, zone %s, region %s, type %s, addresses %s", node.Spec.ProviderID,
		node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelTopologyRegion],
		node.Labels[corev1.LabelInstanceTypeStable],
		strings.Join(addresses, ", "))
}

// tail is the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
