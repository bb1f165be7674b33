package csi

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/thalassa-cloud/client-go/iaas"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// startController runs the controller of the driver as a pod of the namespace does, until the test ends, and returns
// the path of its socket.
func startController(t *testing.T, cloud *emulator.Emulator, namespace, kubeconfig string) (socket string) {
	t.Helper()
	folder := t.TempDir()
	socket = filepath.Join(folder, "csi.sock")
	config := filepath.Join(folder, "cloud-config.yaml")
	err := os.WriteFile(config, fmt.Appendf(nil, "organisation: %s\nendpoint: https://cloud.test\nvpcIdentity: %s\n"+
		"cluster: k8s-test\ncloudCredentials: {personalAccessToken: %s}\n", emulator.DefaultOrganisationSlug,
		emulator.DefaultVPC, emulator.DefaultToken), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	startDriver(t, cloud.Transport(), namespace, "controller", "--cloud-config="+config,
		"--csi-endpoint=unix://"+socket, "--http-endpoint=", "--kubeconfig="+kubeconfig)
	return socket
}

// startDriver runs a command of the driver until the test ends, with the environment of a pod in the namespace.
func startDriver(t *testing.T, network http.RoundTripper, namespace string, arguments ...string) {
	t.Helper()
	cmd := driver.NewCommand(driver.Environment{Build: build.Current(), Network: network,
		Getenv: func(name string) string { return map[string]string{"POD_NAMESPACE": namespace}[name] }})
	cmd.SetArgs(arguments)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the driver ended with %v", err)
		}
	})
}

// inCloud returns the volumes and snapshots of the cloud.
func (c *cluster) inCloud(ctx context.Context) (volumes []iaas.Volume, snapshots []iaas.Snapshot) {
	c.Helper()
	api := newClient(c.T, c.emulator)
	var err error
	volumes, err = client.List(ctx, api, iaas.VolumeEndpoint, nil, func(v iaas.Volume) (iaas.Volume, bool) {
		return v, true
	})
	if err != nil {
		c.Fatal(err)
	}
	snapshots, err = client.List(ctx, api, iaas.SnapshotEndpoint, nil, func(s iaas.Snapshot) (iaas.Snapshot, bool) {
		return s, true
	})
	if err != nil {
		c.Fatal(err)
	}
	return volumes, snapshots
}

// wantWait checks that a volume that is for no claim is not created in the first minute of the driver: an earlier
// process may have created it.
func (c *cluster) wantWait() {
	c.Helper()
	mode := csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	_, err := csi.NewControllerClient(dial(c.T, c.socket)).CreateVolume(c.Context(), &csi.CreateVolumeRequest{
		Name: "unclaimed", VolumeCapabilities: []*csi.VolumeCapability{{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode}}}})
	if status.Code(err) != codes.Aborted {
		c.Errorf("a volume that is for no claim: %v, want the code Aborted", err)
	}
}

// followVolume creates, attaches, expands, clones and deletes a volume. With snapshots, it also creates and deletes a
// snapshot, and restores it.
func (c *cluster) followVolume(withSnapshots bool) {
	c.Helper()
	c.addClass()
	c.addNode()
	c.wantWait()
	c.lead()
	claim := c.addClaim("first", "2500Mi", nil)
	c.attach(claim.Spec.VolumeName)
	volumes, _ := c.inCloud(c.Context())
	if len(volumes) != 1 || volumes[0].Size != 3 || len(volumes[0].Attachments) != 1 {
		c.Fatalf("the cloud has %+v, want one attached volume with 3 GiB", volumes)
	}
	if got := volumes[0].Description; got != "PersistentVolumeClaim "+c.namespace+"/first" {
		c.Errorf("its description is %q", got)
	}
	c.expand(claim, "5Gi")
	if withSnapshots {
		c.restore(volumes[0].Identity)
	}
	second := c.clone(volumes[0].Identity)
	c.wantRefused(second.Spec.VolumeName, fmt.Sprintf("the limit of the Node is %d", nodeLimit))
	c.detach(claim.Spec.VolumeName)
	c.requestClaim("too-large", "17Ti", nil)
	c.wantFailures("too-large", "volumes have at most 16384 GiB")
	c.deleteAll()
	c.eventually("the cloud has nothing left", func(ctx context.Context) error {
		volumes, snapshots := c.inCloud(ctx)
		if len(volumes)+len(snapshots) > 0 {
			return fmt.Errorf("it has %d volumes and %d snapshots", len(volumes), len(snapshots))
		}
		return nil
	})
}

// restore makes a snapshot of the claim "first", whose volume is original, and a claim of the snapshot.
func (c *cluster) restore(original string) {
	c.Helper()
	c.snapshot("taken", "first")
	claim := c.addClaim("second", "5Gi", &corev1.TypedLocalObjectReference{APIGroup: new(snapshots("").Group),
		Kind: "VolumeSnapshot", Name: "taken"})
	_, snapshots := c.inCloud(c.Context())
	if len(snapshots) != 1 || snapshots[0].SourceVolumeId == nil || *snapshots[0].SourceVolumeId != original {
		c.Fatalf("the cloud has the snapshots %+v, want one of volume %s", snapshots, original)
	}
	restored := c.volumeOf(claim)
	if from := restored.RestoreFromSnapshot; restored.Size != 5 || from == nil ||
		from.Identity != snapshots[0].Identity {
		c.Errorf("the cloud has %+v, want 5 GiB from snapshot %s", restored, snapshots[0].Identity)
	}
}

// clone makes a claim of the claim "first", whose volume is original. Its snapshot does not stay.
func (c *cluster) clone(original string) *corev1.PersistentVolumeClaim {
	c.Helper()
	_, before := c.inCloud(c.Context())
	claim := c.addClaim("third", "6Gi", &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "first"})
	cloned := c.volumeOf(claim)
	if cloned.Size != 6 || cloned.Labels[label.CSISourceVolume] != original {
		c.Errorf("the cloud has %+v, want 6 GiB with the content of volume %s", cloned, original)
	}
	if _, after := c.inCloud(c.Context()); len(after) != len(before) {
		c.Errorf("the cloud has the snapshots %+v after a clone, and had %+v before", after, before)
	}
	return claim
}

// volumeOf returns the volume of a claim that is bound.
func (c *cluster) volumeOf(claim *corev1.PersistentVolumeClaim) iaas.Volume {
	c.Helper()
	volumes, _ := c.inCloud(c.Context())
	for _, one := range volumes {
		if one.Name == claim.Spec.VolumeName {
			return one
		}
	}
	c.Fatalf("the cloud has %+v, want one with the name %s", volumes, claim.Spec.VolumeName)
	return iaas.Volume{}
}
