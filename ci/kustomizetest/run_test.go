package kustomizetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/ci/host"
	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/ci/overlay"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

// waitTimeout bounds every wait; nothing here takes a tenth of it on an idle machine.
const waitTimeout = 2 * time.Minute

// TestOverlayRuns is the way of a user: apply the overlay as it is, read in the pod's status what is missing, say it,
// apply again, and see a node become a part of the cloud. What runs is what the API server holds.
func TestOverlayRuns(t *testing.T) {
	tier.NeedFull(t)
	plane := controlplanetest.Get(t)
	api := controlplanetest.Client(t, plane)
	c := cloud.Start(t, cloud.Loopback(t, "127.83.0.0/16"))
	address := netip.MustParseAddr("127.83.0.9")
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "control-plane",
		Addresses: []netip.Addr{address}}); err != nil {
		t.Fatal(err)
	}
	host.Start(t, plane, virtualnode.Options{Name: "control-plane", Address: address, ControlPlane: true})
	createCredentials(t, api)

	k, dir := overlay.New(t), overlay.Dir("self-managed")
	kube := kubectl.New(plane.Kubeconfig())
	apply(t, kube, k.Build(t, dir))
	t.Cleanup(func() { removeWorkload(t, api) })
	controlplanetest.Eventually(t, waitTimeout, "the pod says what is missing", func(ctx context.Context) error {
		return saysWhatIsMissing(ctx, api)
	})

	k.Say(t, "self-managed", map[string]string{
		"organisation": emulator.DefaultOrganisationSlug, "vpcIdentity": emulator.DefaultVPC,
		"cluster": "k8s-test\nendpoint: " + c.URL,
	})
	// Other processes of this machine may have the port, and every address of it is one machine's.
	k.Change(t, "kustomize/base/self-managed/daemonset.yaml", "--bind-address=0.0.0.0", "--bind-address=$(HOST_IP)")
	k.Change(t, "kustomize/base/self-managed/daemonset.yaml", "        - name: POD_NAME\n",
		"        - name: HOST_IP\n          valueFrom: {fieldRef: {fieldPath: status.hostIP}}\n        - name: "+
			"POD_NAME\n")
	apply(t, kube, k.Build(t, dir))
	controlplanetest.Eventually(t, waitTimeout, "the node is initialised", func(ctx context.Context) error {
		return initialised(ctx, api, "control-plane")
	})
	controlplanetest.Eventually(t, waitTimeout, "the DaemonSet is ready", func(ctx context.Context) error {
		return rolledOut(ctx, api)
	})
}

// createCredentials does what the comment in cloud-config.yaml says.
func createCredentials(t *testing.T, api kubernetes.Interface) {
	t.Helper()
	_, err := api.CoreV1().Secrets("kube-system").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "thalassa-credentials"},
		StringData: map[string]string{"personalAccessToken": emulator.DefaultToken},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, kube kubectl.Kubectl, manifest string) {
	t.Helper()
	output, err := kube.Apply(manifest)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// removeWorkload lets the pods end while there still is a node on which they do.
func removeWorkload(t *testing.T, api kubernetes.Interface) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout) // the test's own has ended
	defer cancel()
	if err := api.AppsV1().DaemonSets("kube-system").Delete(ctx, "thalassa-ccm", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pods, err := pods(ctx, api)
		return err == nil && len(pods) == 0, nil
	})
	if err != nil {
		t.Errorf("waiting for the pods to end: %v", err)
	}
}

func pods(ctx context.Context, api kubernetes.Interface) ([]corev1.Pod, error) {
	list, err := api.CoreV1().Pods("kube-system").List(ctx,
		metav1.ListOptions{LabelSelector: "k8s-app=cloud-controller-manager"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// saysWhatIsMissing reads what `kubectl describe pod` shows.
func saysWhatIsMissing(ctx context.Context, api kubernetes.Interface) error {
	all, err := pods(ctx, api)
	if err != nil || len(all) != 1 || len(all[0].Status.ContainerStatuses) != 1 {
		return errors.Join(fmt.Errorf("pods: %+v", all), err)
	}
	status := all[0].Status.ContainerStatuses[0]
	ended := status.State.Terminated
	if ended == nil {
		ended = status.LastTerminationState.Terminated
	}
	if ended == nil || ended.ExitCode == 0 {
		return fmt.Errorf("container: %+v", status)
	}
	for _, key := range []string{"organisation: missing", "vpcIdentity: missing", "cluster: missing"} {
		if !strings.Contains(ended.Message, key) {
			return fmt.Errorf("the message does not say %q: %s", key, ended.Message)
		}
	}
	return nil
}

func initialised(ctx context.Context, api kubernetes.Interface, name string) error {
	node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == "node.cloudprovider.kubernetes.io/uninitialized" {
			return errors.New("it has the taint still")
		}
	}
	if !strings.HasPrefix(node.Spec.ProviderID, "thalassacloud://") {
		return fmt.Errorf("its provider ID is %q", node.Spec.ProviderID)
	}
	return nil
}

func rolledOut(ctx context.Context, api kubernetes.Interface) error {
	set, err := api.AppsV1().DaemonSets("kube-system").Get(ctx, "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if set.Status.ObservedGeneration != set.Generation || set.Status.UpdatedNumberScheduled != 1 ||
		set.Status.NumberReady != 1 {
		return fmt.Errorf("its status is %+v", set.Status)
	}
	return nil
}
