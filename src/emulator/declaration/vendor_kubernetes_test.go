package declaration

import (
	"net/http"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// ends deletes an object as the Terraform provider deletes a node pool: it reads the object each second until that is
// deleted, and to find nothing is an error. Without delays, nothing is listed as deleted.
func (c *tool) ends(path string) {
	c.Helper()
	if c.delays == (emulator.Delays{}) {
		c.gone(path)
		return
	}
	c.expect(http.MethodDelete, path, nil, http.StatusNoContent)
	for range 60 {
		if deleted(c.expect(http.MethodGet, path, nil, http.StatusOK)) {
			return
		}
		<-time.After(time.Second)
	}
	c.Fatalf("%s is not deleted after a minute", path)
}

// A cluster and its node pool read back as they were sent. The version of the cluster can be left out.
func TestTerraformKubernetes(t *testing.T) {
	replay(t, func(c *tool) {
		settings := values{"description": "d", "labels": values{"a": "b"}, "deleteProtection": false,
			"podSecurityStandardsProfile": "baseline", "auditLogProfile": "none", "defaultNetworkPolicy": "deny-all"}
		network := values{"cni": "cilium", "serviceCidr": "172.16.0.0/18", "podCidr": "192.168.0.0/16"}
		version := at(c.named("/v1/kubernetes/versions", "1.33.5"), "identity")
		cluster := c.ensure("/v1/kubernetes/clusters", merged(settings, values{"name": "k", "annotations": nil,
			"regionIdentity": "", "clusterType": "managed", "kubernetesVersionIdentity": version, "subnet": "$subnet",
			"networking": network, "disablePublicEndpoint": false, "apiServerACL": values{"allowedCIDRs": nil},
			"autoUpgradePolicy": ""}))
		read := merged(settings, values{"name": "k", "status": "ready", "clusterType": "managed",
			"clusterVersion.identity": version, "annotations": nil, "vpc.identity": "$vpc",
			"subnet.identity": "$subnet", "region.slug": "nl-01", "configuration.networking.cni": "cilium",
			"configuration.networking.serviceCidr": "172.16.0.0/18",
			"configuration.networking.podCidr":     "192.168.0.0/16"})
		c.reads(cluster, read)
		c.nodePool(cluster)
		settings["description"], settings["auditLogProfile"], settings["defaultNetworkPolicy"] = "e", "basic", ""
		newer := at(c.named("/v1/kubernetes/versions", "1.34.1"), "identity")
		c.put(cluster, merged(settings, values{"name": "k", "kubernetesVersionIdentity": newer,
			"apiServerACL": values{"allowedCIDRs": nil}, "autoUpgradePolicy": ""}))
		c.reads(cluster, merged(merged(read, settings), values{"clusterVersion.identity": newer}))
		c.ends(cluster)
		for _, version := range []values{{}, {"kubernetesVersionIdentity": ""}, {"kubernetesVersionIdentity": nil}} {
			newest := c.ensure("/v1/kubernetes/clusters", merged(version, values{"name": "n", "subnet": "$subnet"}))
			c.reads(newest, values{"clusterVersion.name": "1.34.1"})
			c.ends(newest)
		}
	})
}

// nodePool creates a node pool, changes it and deletes it.
func (c *tool) nodePool(cluster string) {
	c.Helper()
	settings := values{"description": "", "labels": nil, "annotations": nil, "availabilityZone": "nl-01a",
		"replicas": 1, "minReplicas": 1, "maxReplicas": 1, "enableAutoHealing": false, "upgradeStrategy": "always",
		"nodeSettings": values{"nodeAnnotations": nil, "nodeLabels": values{"a": "b"}, "nodeTaints": []values{
			{"key": "k", "value": "v", "operator": "Equal", "effect": "NoSchedule"}}}}
	pool := c.ensure(cluster+"/nodepools", merged(settings, values{"name": "p", "machineType": "pgp-small",
		"subnetIdentity": "$subnet", "kubernetesVersionIdentity": nil, "enableAutoscaling": false,
		"manageNodeAllocatable": false}))
	read := values{"name": "p", "status": "ready", "machineType.slug": "pgp-small", "subnet.identity": "$subnet",
		"kubernetesVersion.name": "1.33.5"}
	c.reads(pool, merged(settings, read))
	settings["replicas"], settings["maxReplicas"], settings["labels"] = 2, 3, values{"c": "d"}
	settings["nodeSettings"] = values{"nodeAnnotations": nil, "nodeLabels": nil, "nodeTaints": []values{}}
	c.put(pool, merged(settings, values{"machineType": "pgp-medium", "kubernetesVersionIdentity": nil,
		"enableAutoscaling": nil, "manageNodeAllocatable": false}))
	read["machineType.slug"] = "pgp-medium"
	c.reads(pool, merged(settings, read))
	c.ends(pool)
}
