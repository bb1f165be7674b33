package csi

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// volumeLimit is the number of volumes of the instance type that the Node has.
const volumeLimit = 7

// TestNodePlugin registers the node plug-in as a kubelet does, with the account of the chart. The plug-in reads its
// Node, and the account can do nothing else.
func TestNodePlugin(t *testing.T) {
	wantPermitted(t, profile{}, "thalassa-csi-node", func(_, kubeconfig string) {
		addTypedNode(t)
		register(t, startNode(t, kubeconfig))
	})
}

// addTypedNode makes a Node with an instance type.
func addTypedNode(t *testing.T) {
	t.Helper()
	nodes := controlplanetest.Client(t, controlplanetest.Get(t)).CoreV1().Nodes()
	labels := maps.Clone(nodeLabels())
	labels[corev1.LabelInstanceTypeStable] = "small"
	_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machineName, Labels: labels}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := nodes.Delete(context.WithoutCancel(t.Context()), machineName, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

// startNode runs the node plug-in as a process does, until the test ends, and returns the path of the socket on which
// it registers itself.
func startNode(t *testing.T, kubeconfig string) (registration string) {
	t.Helper()
	folder := t.TempDir()
	socket, registration := filepath.Join(folder, "csi.sock"), filepath.Join(folder, "reg.sock")
	startDriver(t, nil, "", "node", "--node-name="+machineName, "--kubeconfig="+kubeconfig, "--http-endpoint=",
		"--csi-endpoint=unix://"+socket, "--kubelet-socket="+socket, "--registration-socket="+registration,
		fmt.Sprintf("--volume-limits=small=%d", volumeLimit))
	return registration
}

// register does what a kubelet does with the socket of a plug-in.
func register(t *testing.T, registration string) {
	t.Helper()
	kubelet := registerapi.NewRegistrationClient(dial(t, registration))
	plugin, err := kubelet.GetInfo(t.Context(), &registerapi.InfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if plugin.GetType() != registerapi.CSIPlugin || plugin.GetName() != driver.DefaultName {
		t.Errorf("the plug-in is %v, want the CSI driver", plugin)
	}
	info, err := csi.NewNodeClient(dial(t, plugin.GetEndpoint())).NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if place := info.GetAccessibleTopology().GetSegments(); info.GetNodeId() != machineName ||
		info.GetMaxVolumesPerNode() != volumeLimit || !maps.Equal(place, nodeLabels()) {
		t.Errorf("the node is %v, want %s with %d volumes at %v", info, machineName, volumeLimit, nodeLabels())
	}
	_, err = kubelet.NotifyRegistrationStatus(t.Context(), &registerapi.RegistrationStatus{PluginRegistered: true})
	if err != nil {
		t.Error(err)
	}
}

// dial connects to a socket, which need not exist yet, until the test ends.
func dial(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	})
	return connection
}
