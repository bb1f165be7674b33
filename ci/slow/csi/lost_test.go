package csi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/kubectl"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// TestLostCluster uses a volume and a snapshot of a cluster that is lost, and a volume that belongs to no cluster, with
// the manifests of the guide. They stay in the cloud when their objects are deleted.
func TestLostCluster(t *testing.T) {
	p := profile{snapshots: true, controller: true, binaries: buildSidecars(t)}
	namespace := controlplanetest.Namespace(t)
	install(t, p.release(namespace))
	c := newCluster(t, p, namespace, accountKubeconfig(t, namespace, "thalassa-csi-controller"))
	c.addClass()
	c.addNode()
	theirs := volume.Owner{Driver: driver.DefaultName, Cluster: "k8s-lost"}.Labels()
	lost, own := c.existing("lost", theirs), c.existing("own", nil)
	snapshot := c.existingSnapshot(lost, theirs)

	c.useByHand(own, nil)
	c.useByHand(lost, func() {
		c.wantRefused("data-moved", `belongs to cluster "k8s-lost"`)
		c.sent(nil, c.storage().MarkVolume(t.Context(), lost, resource.Labels{label.CSICluster: "k8s-test"}, nil))
	})
	c.restoreByHand(snapshot)
	c.eventually("the cloud has what was there before", func(ctx context.Context) error {
		volumes, snapshots := c.inCloud(ctx)
		if len(volumes) != 2 || len(snapshots) != 1 || snapshots[0].Identity != snapshot.ID {
			return fmt.Errorf("it has the volumes %+v and the snapshots %+v", volumes, snapshots)
		}
		return nil
	})
}

// storage is the cloud.
func (c *cluster) storage() *storage.Storage {
	return storage.New(newClient(c.T, c.emulator), storage.Cluster{}, func(context.Context) (string, error) {
		return emulator.DefaultRegion, nil
	})
}

// existing creates a volume in the cloud.
func (c *cluster) existing(name string, labels resource.Labels) resource.Volume {
	c.Helper()
	v, err := c.storage().CreateVolume(c.Context(), resource.Volume{Name: name, Size: 20, Type: "block",
		Labels: labels})
	c.sent(v, err)
	return v
}

// existingSnapshot creates a snapshot in the cloud, as soon as its volume exists.
func (c *cluster) existingSnapshot(of resource.Volume, labels resource.Labels) (made resource.Snapshot) {
	c.Helper()
	c.eventually("the cloud creates a snapshot", func(ctx context.Context) (err error) {
		made, err = c.storage().CreateSnapshot(ctx, resource.Snapshot{Name: "lost", Volume: of.ID, Labels: labels}, "")
		return err
	})
	return made
}

// useByHand attaches an existing volume for a claim, after a preparation if there is one.
func (c *cluster) useByHand(v resource.Volume, prepare func()) {
	c.Helper()
	remove := c.apply("PersistentVolume", "v-0123456789", v.ID)
	c.bound("data-moved")
	if prepare != nil {
		prepare()
	}
	c.attach("data-moved")
	volumes, _ := c.inCloud(c.Context())
	for _, one := range volumes {
		if attached := len(one.Attachments) == 1; attached != (one.Identity == v.ID) {
			c.Errorf("volume %s is attached: %t, want only %s to be", one.Name, attached, v.Name)
		}
	}
	c.detach("data-moved")
	remove()
}

// restoreByHand restores an existing snapshot.
func (c *cluster) restoreByHand(snapshot resource.Snapshot) {
	c.Helper()
	remove := c.apply("VolumeSnapshotContent", "snap-0123456789", snapshot.ID)
	c.ready("data-lost")
	c.lead()
	claim := c.addClaim("data-restored", "20Gi", &corev1.TypedLocalObjectReference{
		APIGroup: new(snapshots("").Group), Kind: "VolumeSnapshot", Name: "data-lost"})
	if from := c.volumeOf(claim).RestoreFromSnapshot; from == nil || from.Identity != snapshot.ID {
		c.Errorf("the volume is restored from %+v, want snapshot %s", from, snapshot.ID)
	}
	c.deleteAll()
	remove()
}

// apply applies the first manifests of the guide with an object of the kind, for something in the cloud in place of the
// one that they name. remove deletes the objects, and waits until they are gone.
func (c *cluster) apply(kind, named, id string) (remove func()) {
	c.Helper()
	guide, err := os.ReadFile(checkout.Path(c, "docs/guides/volumes.md"))
	c.sent(guide, err)
	var manifest string
	for _, block := range regexp.MustCompile("(?s)\n( *)```yaml(\n.*?)```").FindAllStringSubmatch(string(guide), -1) {
		if strings.Contains(block[2], "kind: "+kind+"\n") && manifest == "" {
			manifest = strings.ReplaceAll(block[2], "\n"+block[1], "\n")
		}
	}
	if !strings.Contains(manifest, named) {
		c.Fatalf("the guide has no %s of %s", kind, named)
	}
	manifest = strings.NewReplacer(named, id, "tc-block", c.namespace, "namespace: default",
		"namespace: "+c.namespace).Replace(manifest)
	kube := kubectl.New(controlplanetest.Get(c.T).Kubeconfig()).In(c.namespace)
	c.sent(kube.Apply(manifest))
	return func() {
		c.Helper()
		// kubectl warns that some of the objects have no namespace.
		if _, err := kube.Delete(manifest); err != nil && !errors.Is(err, kubectl.ErrWarned) {
			c.Fatal(err)
		}
	}
}
