package declaration

import (
	"maps"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// values are the fields of an object.
type values = map[string]any

// merged are the fields of two objects. Those of the second one come before those of the first one.
func merged(fields, more values) values {
	all := maps.Clone(fields)
	maps.Copy(all, more)
	return all
}

// replay replays what a tool of the vendor sends, in virtual time, to a cloud with the default switches: with all
// delays, with those of the program without flags, and with none.
func replay(t *testing.T, sequence func(*tool)) {
	t.Helper()
	for name, delays := range map[string]emulator.Delays{"delays": delays(), "program": behaviour.ProgramDelays(),
		"at once": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replayWith(t, delays, sequence) })
		})
	}
}

func replayWith(t *testing.T, delays emulator.Delays, sequence func(*tool)) {
	t.Helper()
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), Delays: delays,
		Middleware: openapitest.Middleware(t)})
	if err != nil {
		t.Fatal(err)
	}
	c := &tool{T: t, cloud: cloud, credential: newCredential(t, cloud, ways()[0]), known: map[string]string{},
		delays: delays}
	c.on(t.Name(), func(c *tool) {
		c.setUp([]prop{
			{Name: "vpc", Path: "/v1/vpcs",
				Body: values{"name": "vendor", "cloudRegionIdentity": "nl-01", "vpcCidrs": []string{"10.70.0.0/16"}}},
			{Name: "subnet", Path: "/v1/subnets",
				Body: values{"name": "vendor", "vpcIdentity": "$vpc", "cidr": "10.70.0.0/24"}},
		})
		sequence(c)
	})
}

// ensure creates an object, waits until it is ready, and returns its path.
func (c *tool) ensure(path string, body values) string {
	c.Helper()
	answer := c.expect(http.MethodPost, path, c.filled(parsed(c.T, body)), http.StatusCreated)
	identity, _ := at(answer, "identity").(string)
	c.ready(path + "/" + identity)
	return path + "/" + identity
}

// ready waits until an object is not on its way.
func (c *tool) ready(path string) any {
	c.Helper()
	c.until("ready", func() bool { return !underway(c.expect(http.MethodGet, path, nil, http.StatusOK)) })
	return c.expect(http.MethodGet, path, nil, http.StatusOK)
}

// put changes an object.
func (c *tool) put(path string, body values) {
	c.Helper()
	c.expect(http.MethodPut, path, c.filled(parsed(c.T, body)), http.StatusOK)
}

// reads compares fields of an object with what a tool wants to read, nil for nothing.
func (c *tool) reads(path string, want values) {
	c.Helper()
	read := c.ready(path)
	for field, value := range want {
		if wrong := difference(c.filled(parsed(c.T, value)), at(read, field)); wrong != "" {
			c.Errorf("GET %s: %s%s", path, field, wrong)
		}
	}
}

// gone deletes an object, and waits until it is gone, or is only listed as deleted.
func (c *tool) gone(path string) {
	c.Helper()
	c.expect(http.MethodDelete, path, nil, http.StatusNoContent)
	c.goes(path)
}

// goes waits until an object that was deleted is gone, or is only listed as deleted.
func (c *tool) goes(path string) {
	c.Helper()
	c.until("deleted", func() bool {
		status, read := c.send(http.MethodGet, path, nil)
		return status == http.StatusNotFound || deleted(read)
	})
}

// A subnet without a route table of its own shows none: else every later plan removes it.
func TestTerraformSubnet(t *testing.T) {
	replay(t, func(c *tool) {
		body := values{"name": "s", "description": "", "vpcIdentity": "$vpc", "cidr": "10.70.1.0/24"}
		path := c.ensure("/v1/subnets", body)
		plain := values{"name": "s", "description": "", "vpcIdentity": "$vpc", "vpc.identity": "$vpc",
			"cidr": "10.70.1.0/24", "status": "ready", "labels": nil, "annotations": nil, "routeTable": nil}
		c.reads(path, plain)
		c.put(path, values{"name": "s", "description": "d", "labels": values{"a": "b"}})
		plain["description"], plain["labels"] = "d", values{"a": "b"}
		c.reads(path, plain)
		c.gone(path)
	})
}

// A policy and a selector are sent only when they change; the rest of a target group is removed when it is absent.
func TestTerraformTargetGroup(t *testing.T) {
	replay(t, func(c *tool) {
		body := values{"name": "g", "description": "", "vpc": "$vpc", "targetPort": 80, "protocol": "tcp"}
		path := c.ensure("/v1/loadbalancer-target-groups", body)
		want := values{"name": "g", "vpc.identity": "$vpc", "targetPort": 80, "protocol": "tcp",
			"loadbalancingPolicy": nil, "targetSelector": nil, "healthCheck": nil, "enableProxyProtocol": nil}
		c.reads(path, want)
		check := values{"protocol": "tcp", "port": 80, "path": "", "periodSeconds": 10, "timeoutSeconds": 5,
			"unhealthyThreshold": 3, "healthyThreshold": 2}
		rest := values{"name": "g", "description": "", "targetPort": 80, "protocol": "tcp", "healthCheck": check,
			"loadbalancingPolicy": "MAGLEV", "targetSelector": values{"a": "b"}}
		c.put(path, rest)
		want["healthCheck"], want["loadbalancingPolicy"], want["targetSelector"] = check, "MAGLEV", values{"a": "b"}
		c.reads(path, want)
		c.put(path, values{"name": "g", "description": "", "targetPort": 80, "protocol": "tcp"})
		want["healthCheck"] = nil
		c.reads(path, want)
		c.gone(path)
	})
}

// Security groups, allowed sources and limits that are absent are to be removed.
func TestTerraformLoadBalancer(t *testing.T) {
	replay(t, func(c *tool) {
		c.setUp([]prop{
			{Name: "group", Path: "/v1/security-groups", Body: values{"name": "sg", "vpcIdentity": "$vpc"}},
			{Name: "targets", Path: "/v1/loadbalancer-target-groups",
				Body: values{"name": "g", "vpc": "$vpc", "targetPort": 80, "protocol": "tcp"}},
		})
		path := c.ensure("/v1/loadbalancers", values{"name": "lb", "description": "", "subnet": "$subnet",
			"internalLoadbalancer": false, "deleteProtection": false, "listeners": nil,
			"securityGroupAttachments": []string{"$group"}})
		c.reads(path, values{"status": "ready", "subnet.identity": "$subnet",
			"securityGroups.*.identity": []string{"$group"}})
		rest := values{"name": "l", "description": "", "port": 80, "protocol": "tcp", "targetGroup": "$targets"}
		limited := values{"name": "l", "description": "", "port": 80, "protocol": "tcp", "targetGroup": "$targets",
			"maxConnections": 10, "connectionIdleTimeout": 60, "allowedSources": []string{"10.0.0.0/8"}}
		listener := c.ensure(path+"/listeners", limited)
		c.reads(listener, values{"port": 80, "protocol": "tcp", "targetGroup.identity": "$targets",
			"maxConnections": 10, "connectionIdleTimeout": 60, "allowedSources": []string{"10.0.0.0/8"}})
		c.put(listener, rest)
		c.reads(listener, values{"port": 80, "targetGroup.identity": "$targets", "maxConnections": nil,
			"connectionIdleTimeout": nil, "allowedSources": nil})
		c.put(path, values{"name": "lb", "description": "", "deleteProtection": false})
		c.reads(path, values{"name": "lb", "subnet.identity": "$subnet", "securityGroups": nil})
		c.gone(listener)
		c.gone(path)
	})
}

// Attachments read back in the order in which they were sent.
func TestTerraformAttachments(t *testing.T) {
	replay(t, func(c *tool) {
		for _, name := range []string{"a", "b", "c"} {
			c.setUp([]prop{{Name: name, Path: "/v1/machines",
				Body: values{"name": name, "subnet": "$subnet", "machineType": "pgp-small"}}})
		}
		path := c.ensure("/v1/loadbalancer-target-groups",
			values{"name": "g", "vpc": "$vpc", "targetPort": 80, "protocol": "tcp"})
		for _, order := range [][]string{{"$c", "$a", "$b"}, {"$b", "$c"}, {"$a", "$b", "$c"}, {}} {
			all := []values{}
			for _, name := range order {
				all = append(all, values{"serverIdentity": name})
			}
			c.expect(http.MethodPost, path+"/attachments", c.filled(parsed(c.T, values{"TargetGroupID": "x",
				"attachments": all})), http.StatusNoContent)
			c.reads(path, values{"loadbalancerTargetGroupAttachments.*.virtualMachineInstance.identity": order})
		}
	})
}

// The volume type is looked up by its name, and the root volume exists then.
func TestTerraformMachine(t *testing.T) {
	replay(t, func(c *tool) {
		types := c.list("/v1/volume-types")
		kind, name := at(types[0], "identity"), at(types[0], "name")
		path := c.ensure("/v1/machines", values{"name": "m", "description": "", "subnet": "$subnet", "cloudInit": "",
			"deleteProtection": false, "state": nil, "machineType": "pgp-small", "machineImage": "ubuntu-22-04-01",
			"rootVolume": values{"volumeTypeIdentity": kind, "size": 12}, "availabilityZone": "nl-01b"})
		want := values{"name": "m", "subnet.identity": "$subnet", "machineType.slug": "pgp-small", "state": "running",
			"machineImage.slug": "ubuntu-22-04-01", "availabilityZone": "nl-01b", "persistentVolume.size": 12}
		c.reads(path, want)
		root, _ := at(c.ready(path), "persistentVolume.identity").(string)
		c.reads("/v1/volumes/"+root, values{"size": 12, "volumeType.name": name, "status": "Attached"})
		c.put(path, values{"name": "m", "description": "d", "labels": nil, "annotations": nil, "subnet": "$subnet",
			"state": "running", "availabilityZone": "nl-01b", "machineType": "pgp-small", "deleteProtection": false,
			"securityGroupAttachments": []string{}})
		want["description"], want["deleteProtection"] = "d", false
		c.reads(path, want)
		c.gone(path)
	})
}
