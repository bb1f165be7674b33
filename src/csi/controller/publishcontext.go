package controller

import (
	"context"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// publishedName is the key of the volume's name in the publish context, after the name of the driver, as in the CSI
// driver that this one replaces.
const publishedName = "/volume-name"

// publishContext returns what the node plug-in needs to know of a volume that is attached to the machine. attributes
// are those of the PersistentVolume.
func (c *Controller) publishContext(ctx context.Context, v resource.Volume, machine string,
	attributes map[string]string) (map[string]string, error) {
	published := map[string]string{c.Owner.Driver + publishedName: v.Name}
	if c.Owner.MayHaveContent(v, attributes) {
		published[volume.NoFormat] = "true"
	}
	if first, _ := c.first.LoadOrStore(v.ID, machine); first != machine || !v.CreatedAt.After(c.started) {
		published[volume.AttachedBefore] = "true"
	}
	if held, _ := v.InUse(); held.Serial != "" {
		published[volume.SerialKey] = held.Serial
	}
	all, err := c.Storage.Volumes(ctx, listAge)
	if err != nil {
		err = problemOf("comparing the serial number of volume "+v.ID+" with those of other volumes", err)
		return nil, unfinished(err) // the volume is attached: after a final code, csi-attacher would forget that
	}
	for _, other := range all {
		if other.ID == v.ID || !volume.SimilarSerials(v, other) {
			continue
		}
		published[volume.WholeSerialKey] = "true"
		if volume.BeginsSerial(published[volume.SerialKey], other) {
			delete(published, volume.SerialKey) // the cloud has cut it, and the device of the other one may have it
		}
	}
	return published, nil
}
