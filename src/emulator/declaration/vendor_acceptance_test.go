package declaration

import (
	"maps"
	"net/http"
	"strings"
	"testing"
)

// The sequences here are those that the acceptance tests of the Terraform provider and the end-to-end tests of the
// command line cause, with the fields that they compare.

// shows compares fields of an object, as reads does, and expects a value in other fields.
func (c *tool) shows(path string, want values, filled ...string) {
	c.Helper()
	c.reads(path, want)
	read := c.ready(path)
	for _, field := range filled {
		if empty(at(read, field)) {
			c.Errorf("GET %s: no %s", path, field)
		}
	}
}

// vanishes deletes an object, and waits until it is not found: some deletions end with nothing else.
func (c *tool) vanishes(path string) {
	c.Helper()
	c.expect(http.MethodDelete, path, nil, http.StatusNoContent)
	c.until("not found", func() bool { status, _ := c.send(http.MethodGet, path, nil); return status == 404 })
}

// named is the object with a name in a list. Data sources read lists without filters, and search in them.
func (c *tool) named(path, name string) any {
	c.Helper()
	for _, object := range c.list(path) {
		if at(object, "name") == name {
			return object
		}
	}
	c.Fatalf("GET %s has no %q", path, name)
	return nil
}

// The region is named by its slug, and the provider writes its identity into the same field. CIDRs stay in their order.
func TestTerraformVPC(t *testing.T) {
	replay(t, func(c *tool) {
		c.expect(http.MethodGet, "/v1/regions/nl-01", nil, http.StatusOK)
		body := values{"name": "acc", "description": "", "cloudRegionIdentity": "nl-01",
			"vpcCidrs": []string{"10.80.0.0/16"}}
		path := c.ensure("/v1/vpcs", body)
		c.shows(path, values{"name": "acc", "cloudRegion.slug": "nl-01", "cloudRegion.identity": "nl-01",
			"cidrs": []string{"10.80.0.0/16"}, "labels": nil, "annotations": nil}, "slug", "status")
		ranges := []string{"10.81.0.0/16", "10.80.0.0/16"}
		c.put(path, values{"name": "acc", "description": "d", "labels": values{"a": "b"},
			"annotations": values{"c": "d"}, "vpcCidrs": ranges})
		want := values{"description": "d", "labels": values{"a": "b"}, "annotations": values{"c": "d"},
			"cidrs": ranges}
		c.shows(path, want)
		for field, value := range want {
			if wrong := difference(parsed(t, value), at(c.named("/v1/vpcs", "acc"), field)); wrong != "" {
				c.Errorf("in the list of VPCs: %s%s", field, wrong)
			}
		}
		c.gone(path)
	})
}

// The deletion of a route table ends when it is not found.
func TestTerraformRouteTable(t *testing.T) {
	replay(t, func(c *tool) {
		path := c.ensure("/v1/route-tables", values{"name": "acc", "description": "", "vpcIdentity": "$vpc"})
		c.shows(path, values{"name": "acc", "description": "", "vpc.identity": "$vpc"}, "slug")
		c.put(path, values{"name": "acc", "description": "d"})
		c.shows(path, values{"description": "d", "vpc.identity": "$vpc"})
		c.vanishes(path)
	})
}

// A NAT gateway is changed by its slug, and has an address when it is ready.
func TestTerraformNATGateway(t *testing.T) {
	replay(t, func(c *tool) {
		path := c.ensure("/v1/nat-gateways", values{"name": "acc", "description": "", "subnetIdentity": "$subnet"})
		c.shows(path, values{"subnet.identity": "$subnet", "vpc.identity": "$vpc", "securityGroups": nil},
			"slug", "status", "endpointIP", "v4IP")
		slug, _ := at(c.ready(path), "slug").(string)
		c.put("/v1/nat-gateways/"+slug, values{"name": "acc", "description": "d"})
		c.shows(path, values{"description": "d", "subnet.identity": "$subnet"}, "endpointIP")
		c.gone(path)
	})
}

// A change of a security group sends its version, and leaves rules alone that others manage.
func TestTerraformSecurityGroup(t *testing.T) {
	replay(t, func(c *tool) {
		rule := values{"name": "r", "ipVersion": "ipv4", "protocol": "tcp", "priority": 10, "remoteType": "address",
			"remoteAddress": "0.0.0.0/0", "portRangeMin": 1, "portRangeMax": 65535, "policy": "allow"}
		path := c.ensure("/v1/security-groups", values{"name": "sg-1234567890123456789", "description": "",
			"vpcIdentity": "$vpc", "allowSameGroupTraffic": false, "ingressRules": []values{rule}})
		c.shows(path, values{"vpc.identity": "$vpc", "allowSameGroupTraffic": false, "egressRules": nil},
			"identity", "status", "createdAt")
		c.put(path, values{"name": "sg-1234567890123456789", "description": "d", "allowSameGroupTraffic": false,
			"objectVersion": at(c.ready(path), "objectVersion"), "skipRulesUpdate": true})
		c.shows(path, values{"description": "d", "ingressRules.*.name": []string{"r"}})
		c.gone(path)
	})
}

// A reserved IP is available and has an address.
func TestTerraformReservedIP(t *testing.T) {
	replay(t, func(c *tool) {
		path := c.ensure("/v1/reserved-ips", values{"name": "acc", "description": "", "region": "nl-01"})
		c.shows(path, values{"status": "available", "region.slug": "nl-01", "description": "",
			"attachedToResourceType": nil}, "slug", "ipv4Address")
		c.put(path, values{"name": "acc", "description": "d"})
		c.shows(path, values{"description": "d"}, "ipv4Address")
		c.gone(path)
	})
}

// A peering connection of one organisation is accepted by itself.
func TestTerraformPeering(t *testing.T) {
	replay(t, func(c *tool) {
		c.setUp([]prop{{Name: "accepter", Path: "/v1/vpcs", Body: values{"name": "accepter",
			"cloudRegionIdentity": "nl-01", "vpcCidrs": []string{"10.71.0.0/16"}}}})
		path := c.ensure("/v1/vpc-peering-connections", values{"name": "acc", "description": "", "autoAccept": true,
			"requesterVpcIdentity": "$vpc", "accepterVpcIdentity": "$accepter", "accepterOrganisationIdentity": ""})
		want := values{"status": "active", "requesterVpc.identity": "$vpc", "accepterVpc.identity": "$accepter"}
		c.shows(path, want, "createdAt", "requesterOrganisation.identity", "accepterOrganisation.identity")
		c.put(path, values{"name": "acc", "description": "d"})
		want["description"] = "d"
		c.shows(path, want)
		c.gone(path)
	})
}

// A volume type is chosen by its name, whatever the case of its letters.
func TestTerraformVolume(t *testing.T) {
	replay(t, func(c *tool) {
		kind := ""
		for _, one := range c.list("/v1/volume-types") {
			if name, _ := at(one, "name").(string); strings.EqualFold(name, "block") {
				kind, _ = at(one, "identity").(string)
			}
		}
		region := at(c.named("/v1/regions", "nl-01"), "identity")
		path := c.ensure("/v1/volumes", values{"name": "acc", "description": "d", "size": 10,
			"cloudRegionIdentity": region, "volumeTypeIdentity": kind})
		want := values{"name": "acc", "description": "d", "size": 10, "status": "Available",
			"cloudRegion.slug": "nl-01", "volumeType.identity": kind, "labels": nil, "annotations": nil}
		c.shows(path, want, "slug")
		c.put(path, values{"name": "acc", "description": "e", "size": 10})
		want["description"] = "e"
		c.shows(path, want)
		c.gone(path)
	})
}

// A snapshot is being deleted, or is gone, as soon as its deletion is answered.
func TestTerraformSnapshot(t *testing.T) {
	replay(t, func(c *tool) {
		volume := c.ensure("/v1/volumes", values{"name": "acc", "size": 10, "cloudRegionIdentity": "nl-01",
			"volumeTypeIdentity": "Block"})
		source := at(c.ready(volume), "identity")
		path := c.ensure("/v1/snapshots", values{"name": "acc", "description": "d", "volumeIdentity": source,
			"labels": values{"environment": "test"}, "annotations": values{"managed_by": "terraform"}})
		want := values{"name": "acc", "description": "d", "sourceVolumeId": source, "sizeGB": 10,
			"deleteProtection": false, "labels": values{"environment": "test"},
			"annotations": values{"managed_by": "terraform"}}
		c.shows(path, want, "slug", "status", "region.identity")
		c.put(path, values{"name": "acc", "description": "e", "labels": want["labels"],
			"annotations": want["annotations"], "deleteProtection": false})
		want["description"] = "e"
		c.shows(path, want)
		c.expect(http.MethodDelete, path, nil, http.StatusNoContent)
		code, read := c.send(http.MethodGet, path, nil)
		if now := status(read); code != http.StatusNotFound && now != "Deleting" && now != "Deleted" {
			c.Errorf("GET %s after its deletion = %d with status %q", path, code, now)
		}
	})
}

// Times to live are nanoseconds, and a target shows what it selects.
func TestTerraformSnapshotPolicy(t *testing.T) {
	replay(t, func(c *tool) {
		const week = 7 * 24 * 3600 * 1e9
		target := values{"type": "selector", "selector": values{"backup": "x"}, "volumeIdentities": nil}
		body := values{"name": "acc", "description": "d", "ttl": week, "keepCount": 3, "enabled": true,
			"schedule": "0 2 * * *", "timezone": "UTC", "target": target}
		create := values{"region": at(c.named("/v1/regions", "nl-01"), "identity")}
		maps.Copy(create, body)
		path := c.ensure("/v1/snapshot-policies", create)
		c.shows(path, body, "slug", "nextSnapshotAt", "region.slug")
		body["ttl"], body["keepCount"], body["enabled"], body["schedule"] = 2*week, 5, false, "0 4 * * *"
		c.put(path, body)
		c.shows(path, body)
		c.gone(path)
	})
}

// A file system has one endpoint with an address.
func TestTerraformFileSystem(t *testing.T) {
	replay(t, func(c *tool) {
		path := c.ensure("/v1/tfs", values{"name": "acc", "description": "d", "size": 10,
			"cloudRegionIdentity": at(c.named("/v1/regions", "nl-01"), "identity"), "vpcIdentity": "$vpc",
			"subnetIdentity": "$subnet", "deleteProtection": false})
		want := values{"name": "acc", "description": "d", "region.slug": "nl-01", "size": 10, "status": "Available",
			"vpc.identity": "$vpc", "subnet.identity": "$subnet", "securityGroups": nil}
		c.shows(path, want, "slug")
		if ends, _ := at(c.ready(path), "endpoints").([]any); len(ends) != 1 || empty(at(ends[0], "endpointAddress")) {
			c.Errorf("GET %s: endpoints %v, want one with an address", path, ends)
		}
		c.put(path, values{"name": "acc", "description": "e", "size": 10, "deleteProtection": false})
		want["description"] = "e"
		c.shows(path, want)
		c.gone(path)
	})
}

// The end-to-end tests of the command line recognise rows of volumes and snapshots by how identities begin.
func TestCommandLineIdentities(t *testing.T) {
	replay(t, func(c *tool) {
		volume := c.ensure("/v1/volumes", values{"name": "e2e", "size": 10, "cloudRegionIdentity": "nl-01",
			"volumeTypeIdentity": "block"})
		snapshot := c.ensure("/v1/snapshots", values{"name": "e2e", "volumeIdentity": at(c.ready(volume), "identity")})
		for prefix, path := range map[string]string{"/v1/volumes/v-": volume, "/v1/snapshots/s-": snapshot} {
			if !strings.HasPrefix(path, prefix) {
				c.Errorf("%s does not begin with %s", path, prefix)
			}
		}
	})
}
