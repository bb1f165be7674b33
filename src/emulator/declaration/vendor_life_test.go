package declaration

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// deleted is whether an object is only still listed.
func deleted(object any) bool {
	state, _ := at(object, "state").(string)
	return strings.EqualFold(status(object), "deleted") || state == "deleted"
}

// What is deleted and still listed keeps no subnet, security group or VPC from being deleted. The provider waits
// neither for security groups nor for VPCs.
func TestTerraformDestroy(t *testing.T) {
	replay(t, func(c *tool) {
		c.setUp([]prop{{Name: "group", Path: "/v1/security-groups", Body: values{"name": "sg", "vpcIdentity": "$vpc"}}})
		groups := []string{"$group"}
		machine := c.ensure("/v1/machines", values{"name": "m", "subnet": "$subnet", "machineType": "pgp-small",
			"securityGroupAttachments": groups})
		balancer := c.ensure("/v1/loadbalancers", values{"name": "lb", "subnet": "$subnet",
			"securityGroupAttachments": groups})
		for _, path := range []string{balancer, machine} {
			c.gone(path)
			if status, read := c.send(http.MethodGet, path, nil); deleted(read) != (c.delays.MachineLinger > 0) {
				c.Errorf("GET %s = %d %v, want it listed as deleted if there is such a delay", path, status, read)
			}
		}
		c.gone(c.placed("/v1/subnets/$subnet"))
		c.expect(http.MethodDelete, c.placed("/v1/security-groups/$group"), nil, http.StatusNoContent)
		c.atOnce(c.delays.NetworkDelete, http.MethodDelete, c.placed("/v1/vpcs/$vpc"), nil, http.StatusNoContent)
	})
}

// machine start --wait waits until the status is running.
func TestCommandLineStart(t *testing.T) {
	replay(t, func(c *tool) {
		path := c.ensure("/v1/machines", values{"name": "m", "subnet": "$subnet", "machineType": "pgp-small",
			"state": "stopped"})
		c.reads(path, values{"state": "stopped", "status.status": "stopped"})
		c.expect(http.MethodPost, path+"/start", nil, http.StatusNoContent)
		c.until("running", func() bool { return status(c.expect(http.MethodGet, path, nil, 200)) == "running" })
		c.reads(path, values{"state": "running", "status.status": "running", "subnet.identity": "$subnet"})
	})
}

// An update of a file system sends size 0 when the size is not to change.
func TestCommandLineFileSystem(t *testing.T) {
	replay(t, func(c *tool) {
		path := c.ensure("/v1/tfs", values{"name": "f", "size": 5, "cloudRegionIdentity": "nl-01",
			"vpcIdentity": "$vpc", "subnetIdentity": "$subnet"})
		c.put(path, values{"name": "f", "description": "d", "labels": values{"a": "b"}, "size": 0})
		c.reads(path, values{"name": "f", "description": "d", "labels": values{"a": "b"}, "size": 5,
			"vpc.identity": "$vpc", "subnet.identity": "$subnet", "region.slug": "nl-01"})
		c.gone(path)
	})
}

// endpointIP of a NAT gateway is the gateway address of a route.
func TestExampleOfNATGateway(t *testing.T) {
	replay(t, func(c *tool) {
		gateway := c.ready(c.ensure("/v1/nat-gateways", values{"name": "n", "description": "",
			"subnetIdentity": "$subnet", "configureDefaultRoute": false, "securityGroupAttachments": nil}))
		table := c.ensure("/v1/route-tables", values{"name": "t", "vpcIdentity": "$vpc"})
		way := values{"destinationCidrBlock": "0.0.0.0/0", "gatewayAddress": at(gateway, "endpointIP")}
		route := c.ensure(table+"/routes", way)
		c.reads(route, way)
		c.gone(route)
		c.gone(table)
	})
}

// The CSI driver probes, provisions a volume, attaches it, takes a snapshot of it, restores that, and removes all.
func TestCSIDriver(t *testing.T) {
	replay(t, func(c *tool) {
		c.setUp([]prop{{Name: "machine", Path: "/v1/machines",
			Body: values{"name": "node", "subnet": "$subnet", "machineType": "pgp-small"}}})
		if len(c.list("/v1/regions?region=nl-01")) == 0 {
			c.Errorf("the probe finds no region")
		}
		kind := at(c.list("/v1/volume-types")[0], "name")
		c.expect(http.MethodGet, "/v1/volumes/pvc-1", nil, http.StatusNotFound)
		body := values{"name": "pvc-1", "description": "d", "labels": values{"csi": "yes"},
			"annotations": nil, "type": "", "size": 1, "cloudRegionIdentity": "nl-01", "volumeTypeIdentity": kind,
			"deleteProtection": false}
		volume := c.ensure("/v1/volumes", body)
		want := values{"name": "pvc-1", "description": "d", "labels": values{"csi": "yes"},
			"annotations": nil, "size": 1, "cloudRegion.slug": "nl-01", "volumeType.name": kind,
			"deleteProtection": false, "status": "Available"}
		c.reads(volume, want)
		c.finds(volume, "name", "pvc-1")
		c.finds(volume, "identity", volume[strings.LastIndex(volume, "/")+1:])
		c.attachAndGrow(volume, want)
		c.snapshotAndRestore(volume, body)
		c.gone(volume)
	})
}

// finds finds one object with two filters.
func (c *tool) finds(path, key, value string) {
	c.Helper()
	query := url.Values{"region": {"nl-01"}, key: {value}}
	collection := path[:strings.LastIndex(path, "/")]
	all := c.list(collection + "?" + query.Encode())
	if len(all) != 1 || at(all[0], "identity") != path[len(collection)+1:] {
		c.Errorf("GET %s?%s finds %v", collection, query.Encode(), all)
	}
}

func (c *tool) attachAndGrow(volume string, want values) {
	c.Helper()
	target := c.filled(values{"description": "", "resourceType": "cloud_virtual_machine",
		"resourceIdentity": "$machine"})
	c.expect(http.MethodPost, volume+"/attach", target, http.StatusOK)
	want["status"] = "Attached"
	c.reads(volume, want)
	c.reads(volume, values{"attachments.*.attachedToIdentity": []string{"$machine"}})
	c.put(volume, values{"name": want["name"], "description": "d", "labels": values{"csi": "yes"}, "annotations": nil,
		"size": 2, "deleteProtection": false})
	c.until("larger", func() bool { return at(c.ready(volume), "size") == 2.0 })
	c.expect(http.MethodPost, volume+"/detach", target, http.StatusNoContent)
	want["status"], want["size"], want["attachments"] = "Available", 2, nil
	c.reads(volume, want)
}

func (c *tool) snapshotAndRestore(volume string, body values) {
	c.Helper()
	source := volume[strings.LastIndex(volume, "/")+1:]
	snapshot := c.ensure("/v1/snapshots", values{"name": "snap-1", "description": "", "labels": nil,
		"annotations": nil, "volumeIdentity": source, "deleteProtection": false})
	c.reads(snapshot, values{"name": "snap-1", "sourceVolumeId": source, "sourceVolume.identity": source,
		"status": "Available", "sizeGB": 2, "region.slug": "nl-01", "deleteProtection": false})
	c.finds(snapshot, "name", "snap-1")
	c.finds(snapshot, "SourceVolume", source)
	identity := snapshot[strings.LastIndex(snapshot, "/")+1:]
	body["name"], body["size"], body["restoreFromSnapshotId"] = "pvc-2", 2, identity
	restored := c.ensure("/v1/volumes", body)
	c.reads(restored, values{"name": "pvc-2", "size": 2, "restoreFromSnapshot.identity": identity})
	c.gone(restored)
	c.gone(snapshot)
}

// Both spellings of the container registry are known as a service that is missing.
func TestCommandLineContainerRegistry(t *testing.T) {
	replay(t, func(c *tool) {
		for _, path := range []string{"/v1/container-registry", "/v1/container-registries"} {
			c.expect(http.MethodGet, path, nil, http.StatusNotImplemented)
		}
	})
}
