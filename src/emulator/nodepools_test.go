package emulator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestNodePoolsOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	api := c.vendorClient(t).Kubernetes()
	c.object(t, "POST", clusters, clusterNamed("k"), 201)
	made, err := api.CreateKubernetesNodePool(t.Context(), "k", kubernetes.CreateKubernetesNodePool{
		Name: "Workers", MachineType: "pgp-small", Replicas: 2, AvailabilityZone: "nl-01b",
		NodeSettings: kubernetes.KubernetesNodeSettings{Labels: map[string]string{"a": "b"},
			Taints: []kubernetes.NodeTaint{{Key: "x", Effect: "NoSchedule"}}},
	})
	if err != nil || made.Slug != "workers" || made.Status != "ready" || made.KubernetesVersion.Name != "1.34.1" ||
		made.Subnet.Identity != emulator.DefaultSubnet || made.AvailabilityZone != "nl-01b" {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := api.WaitUntilKubernetesNodePoolReady(t.Context(), "k", "workers"); err != nil {
		t.Error(err)
	}
	names := func() (names []string) {
		t.Helper()
		all, err := api.ListNodePoolMachines(t.Context(), "k", "workers")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			names = append(names, m.MachineName)
		}
		return names
	}
	first := names()
	machines, err := c.api.ListMachines(t.Context(), nil)
	if err != nil || len(machines) != 2 || machines[0].Name != first[0] || machines[0].MachineType.Name != "pgp-small" {
		t.Fatalf("machines %+v, %v, want those of the pool, %v", machines, err, first)
	}
	scale := func(replicas int) (*kubernetes.KubernetesNodePool, error) {
		return api.UpdateKubernetesNodePool(t.Context(), "k", "workers",
			kubernetes.UpdateKubernetesNodePool{Replicas: &replicas})
	}
	if got, err := scale(3); err != nil || got.Replicas != 3 || got.NodeSettings.Labels["a"] != "b" ||
		got.MachineType.Name != "pgp-small" || len(names()) != 3 {
		t.Errorf("scaled up: %+v, %v, with %v", got, err, names())
	}
	if got, err := scale(1); err != nil || got.Replicas != 1 {
		t.Errorf("scaled down: %+v, %v", got, err)
	}
	if diff := cmp.Diff(first[:1], names()); diff != "" {
		t.Errorf("after scaling down, the oldest machine is left (-want +got):\n%s", diff)
	}
	remove := func(scaleDown bool) {
		t.Helper()
		if err := api.DeleteNodePoolMachine(t.Context(), "k", "workers", names()[0], scaleDown); err != nil {
			t.Fatal(err)
		}
	}
	remove(false)
	if got := names(); len(got) != 1 || got[0] == first[0] {
		t.Errorf("machines %v after the deletion of %v, want another one", got, first)
	}
	remove(true)
	if pool, err := api.GetKubernetesNodePool(t.Context(), "k", made.Identity); err != nil || pool.Replicas != 0 ||
		len(names()) != 0 {
		t.Errorf("pool %+v, %v with %v, want no machines", pool, err, names())
	}
	if err := api.DeleteKubernetesCluster(t.Context(), "k"); !refused(err, "is in use by node pool") {
		t.Errorf("deleting a cluster with a node pool: %v, want 409", err)
	}
	if err := api.DeleteKubernetesNodePool(t.Context(), "k", "workers"); err != nil {
		t.Fatal(err)
	}
	if all, err := api.ListKubernetesNodePools(t.Context(), "k", nil); err != nil || len(all) != 0 {
		t.Errorf("pools %+v, %v, want none", all, err)
	}
}

// A smaller maxReplicas alone makes the pool smaller.
func TestFewerNodesAtMost(t *testing.T) {
	play(t, newEmulator(t), []step{
		{request: "POST " + clusters, body: clusterNamed("k"), status: 201},
		{request: "POST " + pools, status: 201, body: `{"name":"p","machineType":"pgp-small","replicas":3,` +
			`"enableAutoscaling":true,"minReplicas":1,"maxReplicas":4}`},
		{request: "PUT " + pools + "/p", body: `{"maxReplicas":2,"replicas":null}`, status: 200,
			has: []string{`"replicas":2`}},
		{request: "PUT " + pools + "/p", body: `{"maxReplicas":1,"replicas":2}`, status: 400,
			has: []string{"maxReplicas"}},
		{request: "PUT " + pools + "/p", body: `{"minReplicas":3}`, status: 400, has: []string{"maxReplicas"}},
	})
}

// With --updates=replace-all, a pool whose number of machines is left out has none.
func TestReplaceAllRemovesNodes(t *testing.T) {
	play(t, newEmulator(t, withSwitches(emulator.Switches{Updates: emulator.ReplaceAll})), []step{
		{request: "POST " + clusters, body: clusterNamed("k"), status: 201},
		{request: "POST " + pools, status: 201, body: `{"name":"p","machineType":"pgp-small","replicas":2}`},
		{request: "PUT " + pools + "/p", body: `{"machineType":"pgp-small"}`, status: 200,
			has: []string{`"replicas":0`}},
		{request: "GET /v1/machines", status: 200, has: []string{"[]"}},
	})
}

// A VPC does not get ranges that its clusters have for pods or services.
func TestVPCsLeaveRoomForClusters(t *testing.T) {
	const network = `,"networking":{"podCidr":"10.200.0.0/16","serviceCidr":"10.201.0.0/16"}}`
	wider := func(cidr string) string {
		return `{"name":"emulator","vpcCidrs":["10.0.0.0/16","` + cidr + `"]}`
	}
	play(t, newEmulator(t), []step{
		{request: "POST " + clusters, body: replaced(clusterNamed("k"), "}", network), status: 201},
		{request: "PUT /v1/vpcs/emulator", body: wider("10.200.1.0/24"), status: 409, has: []string{"podCidr"}},
		{request: "PUT /v1/vpcs/emulator", body: wider("10.201.1.0/24"), status: 409, has: []string{"serviceCidr"}},
		{request: "PUT /v1/vpcs/emulator", body: wider("10.202.1.0/24"), status: 200},
	})
}

// Updates keep labels that they leave out. An empty object removes them all.
func TestLastLabelsCanBeRemoved(t *testing.T) {
	const buckets = "/v1/object-storage/buckets"
	e := newEmulator(t)
	play(t, e, []step{
		{request: "POST " + clusters, body: replaced(clusterNamed("k"), "}", `,"labels":{"a":"b"}}`), status: 201},
		{request: "POST " + buckets, body: `{"bucketName":"logs","region":"nl-01","labels":{"a":"b"}}`, status: 201},
	})
	for _, path := range []string{clusters + "/k", buckets + "/logs"} {
		play(t, e, []step{
			{request: "PUT " + path, body: `{}`, status: 200, has: []string{`"labels":{"a":"b"}`}},
			{request: "PUT " + path, body: `{"labels":null}`, status: 200, has: []string{`"labels":{"a":"b"}`}},
			{request: "PUT " + path, body: `{"labels":{}}`, status: 200, has: []string{`!"a":"b"`}},
		})
	}
}

// What a cluster uses stays.
func TestWhatAClusterUsesStays(t *testing.T) {
	play(t, newEmulator(t), []step{
		{request: "POST /v1/security-groups", body: `{"name":"g","vpcIdentity":"emulator"}`, status: 201},
		{request: "POST " + clusters, status: 201,
			body: replaced(clusterNamed("k"), "}", `,"securityGroupAttachments":["g"]}`)},
		{request: "DELETE /v1/security-groups/g", status: 409, has: []string{"in use by Kubernetes cluster"}},
		{request: "PUT " + clusters + "/k", body: `{"securityGroupAttachments":[]}`, status: 200},
		{request: "POST " + pools, body: `{"name":"p","machineType":"pgp-small","securityGroupAttachments":["g"]}`,
			status: 201},
		{request: "DELETE /v1/security-groups/g", status: 409, has: []string{"in use by node pool"}},
		{request: "PUT " + pools + "/p", body: `{"replicas":1,"securityGroupAttachments":["g"]}`, status: 200},
		{request: "GET /v1/machines", status: 200, has: []string{`"securityGroupAttachments":["sg-`}},
		{request: "DELETE /v1/vpcs/emulator", status: 409},
		{request: "DELETE /v1/subnets/emulator", status: 409, has: []string{"in use by Kubernetes cluster", "2 more"}},
		{request: "DELETE " + pools + "/p", status: 204},
		{request: "DELETE /v1/security-groups/g", status: 204},
		{request: "DELETE /v1/subnets/emulator", status: 409, has: []string{"in use by Kubernetes cluster"}},
		{request: "DELETE " + clusters + "/k", status: 204},
		{request: "DELETE /v1/subnets/emulator", status: 204},
	})
}

// A node pool that does not fit into its subnet is not created, and leaves no machines behind.
func TestNodePoolThatDoesNotFit(t *testing.T) {
	play(t, newEmulator(t, withSecondRegion), []step{
		{request: "POST /v1/vpcs", body: `{"name":"v","cloudRegionIdentity":"nl-01","vpcCidrs":["10.1.0.0/16"]}`,
			status: 201},
		{request: "POST /v1/subnets", body: `{"name":"s","vpcIdentity":"v","cidr":"10.1.0.0/29"}`, status: 201},
		{request: "POST " + clusters, body: replaced(clusterNamed("k"), "emulator", "s"), status: 201},
		{request: "POST " + pools, body: `{"name":"p","machineType":"pgp-small","replicas":20}`, status: 409,
			has: []string{"adding a machine to node pool"}},
		{request: "GET " + pools, status: 200, has: []string{"!identity"}},
		{request: "GET /v1/machines", status: 200, has: []string{"!identity"}},
		{request: "DELETE " + clusters + "/k", status: 204},
		{request: "DELETE /v1/subnets/s", status: 204},
	})
}

func TestNodePoolRequests(t *testing.T) {
	e := newEmulator(t, withSecondRegion)
	play(t, e, []step{{request: "POST " + clusters, body: clusterNamed("k"), status: 201}})
	for want, rest := range map[string]string{
		"machineType": "", "machine type": `,"machineType":"huge"`,
		"availabilityZone":          `,"machineType":"pgp-small","availabilityZone":"x"`,
		"replicas":                  `,"machineType":"pgp-small","replicas":-1`,
		"upgradeStrategy":           `,"machineType":"pgp-small","upgradeStrategy":"odd"`,
		"effect":                    `,"machineType":"pgp-small","nodeSettings":{"nodeTaints":[{"effect":"odd"}]}`,
		"is in another VPC":         `,"machineType":"pgp-small","subnetIdentity":"far"`,
		"kubernetesVersionIdentity": `,"machineType":"pgp-small","kubernetesVersionIdentity":"9"`,
	} {
		play(t, e, []step{{request: "POST " + pools, body: `{"name":"x"` + rest + `}`, status: 400,
			has: []string{want}}})
	}
}
