package emulator_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/kubernetes"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// clusterNamed is the body that creates a cluster.
func clusterNamed(name string) string {
	return `{"name":"` + name + `","subnet":"emulator","kubernetesVersionIdentity":"1-34-1"}`
}

const (
	clusters = "/v1/kubernetes/clusters"
	pools    = clusters + "/k/nodepools"
)

func TestVersionsOfTheOfficialClient(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.Seed.KubernetesVersions = []emulator.KubernetesVersionSeed{{Name: "1.34.1"},
			{Name: "1.20.0", Disabled: true}}
	})
	api := c.vendorClient(t).Kubernetes()
	all, err := api.ListKubernetesVersions(t.Context())
	if err != nil || len(all) != 2 || all[0].KubernetesVersion != "1.34.1" || !all[0].Enabled || all[1].Enabled {
		t.Fatalf("versions %+v, %v, want those of the seed", all, err)
	}
	for _, ref := range []string{all[0].Identity, "1-34-1"} {
		if got, err := api.GetKubernetesVersion(t.Context(), ref); err != nil || got.Identity != all[0].Identity {
			t.Errorf("version %s: %+v, %v", ref, got, err)
		}
	}
	c.object(t, "POST", clusters, replaced(clusterNamed("k"), "1-34-1", "1.20.0"), 400)
	c.object(t, "POST", clusters, replaced(clusterNamed("k"), "1-34-1", ""), 400)
	c.object(t, "POST", clusters, replaced(clusterNamed("k"), "1-34-1", "1.34.1"), 201)
}

func TestClustersOfTheOfficialClient(t *testing.T) {
	c := newCloud(t, withSecondRegion)
	api := c.vendorClient(t).Kubernetes()
	c.object(t, "POST", "/v1/security-groups", `{"name":"g","vpcIdentity":"emulator"}`, 201)
	made, err := api.CreateKubernetesCluster(t.Context(), kubernetes.CreateKubernetesCluster{
		Name: "Shop", RegionIdentity: "nl-01", ClusterType: kubernetes.Managed, KubernetesVersionIdentity: "1-33-5",
		Subnet: emulator.DefaultSubnet, Labels: map[string]string{"a": "b"}, SecurityGroupAttachments: []string{"g"},
		AutoscalerConfig: &kubernetes.AutoscalerConfig{Expander: "random"}, DeleteProtection: true,
		MaintenanceDay: new(uint(3)), Networking: kubernetes.KubernetesClusterNetworking{PodCIDR: "10.200.0.0/16"},
	})
	if err != nil || made.Slug != "shop" || made.Status != "ready" || made.VPC.Identity != emulator.DefaultVPC ||
		made.ClusterVersion.Name != "1.33.5" || len(made.SecurityGroups) != 1 || made.Region.Slug != "nl-01" {
		t.Fatalf("%+v, %v", made, err)
	}
	if got, err := api.WaitUntilKubernetesClusterReady(t.Context(), "shop"); err != nil ||
		got.Identity != made.Identity || got.Configuration.Networking.PodCIDR != "10.200.0.0/16" {
		t.Errorf("%+v, %v", got, err)
	}
	for want, only := range map[int]filters.Filter{
		1: &filters.FilterKeyValue{Key: "vpc", Value: "emulator"},
		0: &filters.FilterKeyValue{Key: "vpc", Value: "far"},
	} {
		all, err := api.ListKubernetesClusters(t.Context(),
			&kubernetes.ListKubernetesClustersRequest{Filters: []filters.Filter{only,
				&filters.LabelFilter{MatchLabels: map[string]string{"a": "b"}}}})
		if err != nil || len(all) != want {
			t.Errorf("%v: %d clusters, %v, want %d", only, len(all), err, want)
		}
	}
	if err := api.DeleteKubernetesCluster(t.Context(), "shop"); !refused(err, "is protected from deletion") {
		t.Errorf("deleting a protected cluster: %v, want 409", err)
	}
	changed, err := api.UpdateKubernetesCluster(t.Context(), "shop", kubernetes.UpdateKubernetesCluster{
		DeleteProtection: new(false), KubernetesVersionIdentity: new("1-34-1"),
		KubeProxyMode: new(kubernetes.KubernetesClusterKubeProxyModeIptables),
	})
	if err != nil || changed.Name != "Shop" || changed.Labels["a"] != "b" || changed.ClusterVersion.Name != "1.34.1" ||
		*changed.MaintenanceDay != 3 || changed.AutoscalerConfig.Expander != "random" ||
		len(changed.SecurityGroups) != 1 || changed.AutoUpgradePolicy != "none" ||
		*changed.Configuration.Networking.KubeProxyMode != "iptables" {
		t.Errorf("changed %+v, %v, want what was not sent as it was", changed, err)
	}
	_, err = api.GetKubernetesClusterKubeconfig(t.Context(), "shop")
	if !refused(err, "501") || !refused(err, "runs no Kubernetes") {
		t.Errorf("kubeconfig: %v, want 501", err)
	}
	if err := api.DeleteKubernetesCluster(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if _, err := api.GetKubernetesCluster(t.Context(), "shop"); !vendor.IsNotFound(err) {
		t.Errorf("a deleted cluster: %v, want not found", err)
	}
}

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

func TestKubernetesLifeCycle(t *testing.T) {
	inVirtualTime(t, func(cfg *emulator.Config) {
		cfg.Delays = emulator.Delays{KubernetesCreate: minute, KubernetesDelete: minute, KubernetesLinger: minute}
	}, func(e *emulator.Emulator) {
		const pool = pools + "/p"
		play(t, e, []step{
			{request: "POST " + clusters, body: clusterNamed("k"), status: 201, has: []string{`"provisioning"`}},
			{request: "GET " + clusters + "/k", wait: minute, status: 200, has: []string{`"status":"ready"`}},
			{request: "POST " + pools, body: `{"name":"p","machineType":"pgp-small","replicas":1}`, status: 201,
				has: []string{`"status":"provisioning"`}},
			{request: "GET " + pools + "?status=ready", wait: minute, status: 200, has: []string{`"name":"p"`}},
			{request: "GET " + pools + "?status=failed", status: 200, has: []string{`!"name"`}},
			{request: "DELETE " + pool, status: 204},
			{request: "DELETE " + pool, status: 204},
			{request: "GET " + pool, status: 200, has: []string{`"status":"deleting"`}},
			{request: "PUT " + pool, body: `{"replicas":2}`, status: 409, has: []string{"is being deleted"}},
			{request: "GET " + pool + "/machines", status: 200, has: []string{"!machineName"}},
			{request: "DELETE " + clusters + "/k", status: 204},
			{request: "POST " + pools, body: `{"name":"q","machineType":"pgp-small"}`, status: 409},
			{request: "DELETE /v1/subnets/emulator", status: 409, has: []string{"in use by Kubernetes cluster"}},
			{request: "GET " + clusters + "/k", wait: minute, status: 200, has: []string{`"status":"deleted"`}},
			{request: "GET " + clusters + "/k", wait: minute, status: 404},
			{request: "DELETE /v1/subnets/emulator", status: 204},
		})
	})
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

func TestClusterRequests(t *testing.T) {
	with := func(rest string) string { return replaced(clusterNamed("x"), "}", ","+rest+"}") }
	const hosted = `{"name":"h","clusterType":"hosted-control-plane","kubernetesVersionIdentity":"1.34.1"`
	e := newEmulator(t, withSecondRegion)
	play(t, e, []step{
		{request: "POST " + clusters, body: clusterNamed("k"), status: 201},
		{request: "POST " + clusters, body: hosted + `,"regionIdentity":"nl-01"}`, status: 201,
			has: []string{`"vpc":null`}},
		{request: "GET " + clusters + "?vpc=emulator", status: 200, has: []string{`!"name":"h"`}},
		{request: "POST " + clusters + "/h/nodepools", body: `{"name":"p","machineType":"pgp-small"}`, status: 400,
			has: []string{"only clusters of type managed"}},
		{request: "POST " + pools, body: `{"name":"auto","machineType":"pgp-small","enableAutoscaling":true,` +
			`"minReplicas":2,"maxReplicas":3}`, status: 201, has: []string{`"replicas":2`}},
		{request: "PUT " + pools + "/auto", body: `{"maxReplicas":1}`, status: 400},
		{request: "PUT " + pools + "/auto", body: `{"machineType":"huge"}`, status: 400},
		{request: "GET " + clusters + "/none/kubeconfig", status: 404},
		{request: "PUT /_emulator/quotas/machines", body: `{"maxUsage":3}`, status: 204},
		{request: "PUT " + pools + "/auto", body: `{"enableAutoscaling":false,"replicas":4}`, status: 403},
		{request: "PUT /_emulator/quotas/kubernetes-clusters", body: `{"maxUsage":2}`, status: 204},
		{request: "POST " + clusters, body: clusterNamed("more"), status: 403},
	})
	for want, body := range map[string]string{
		"clusterType":                 with(`"clusterType":"odd"`),
		"subnet":                      `{"name":"x","kubernetesVersionIdentity":"1.34.1"}`,
		"is only for clusters":        hosted + `,"regionIdentity":"nl-01","subnet":"emulator"}`,
		"regionIdentity":              hosted + `}`,
		"is not in region":            with(`"regionIdentity":"nl-02"`),
		"overlaps the VPC":            with(`"networking":{"podCidr":"10.0.0.0/24"}`),
		"overlaps the serviceCidr":    with(`"networking":{"podCidr":"10.96.1.0/24"}`),
		"is in another VPC":           with(`"securityGroupAttachments":["sg-far"]`),
		"allowedCIDRs":                with(`"apiServerACL":{"allowedCIDRs":["x"]}`),
		"podSecurityStandardsProfile": with(`"podSecurityStandardsProfile":"odd"`),
		"auditLogProfile":             with(`"auditLogProfile":"odd"`),
		"defaultNetworkPolicy":        with(`"defaultNetworkPolicy":"odd"`),
		"autoUpgradePolicy":           with(`"autoUpgradePolicy":"odd"`),
		"kubeProxyMode":               with(`"kubeProxyMode":"odd"`),
		"kubeProxyDeployment":         with(`"kubeProxyDeployment":"odd"`),
		"maintenanceDay":              with(`"maintenanceDay":"Monday"`),
	} {
		play(t, e, []step{{request: "POST " + clusters, body: body, status: 400, has: []string{want}}})
	}
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

func TestClientKnowsKubernetes(t *testing.T) {
	c := newCloud(t)
	c.object(t, "POST", "/v1/security-groups", `{"name":"g","vpcIdentity":"emulator"}`, 201)
	c.object(t, "POST", clusters, replaced(clusterNamed("k"), "}", `,"maintenanceDay":1,"maintenanceStartAt":2,`+
		`"securityGroupAttachments":["g"],"autoscalerConfig":{}}`), 201)
	c.object(t, "POST", pools, `{"name":"p","machineType":"pgp-small","replicas":1,"securityGroupAttachments":["g"],`+
		`"nodeSettings":{"nodeTaints":[{"effect":"NoSchedule"}]}}`, 201)
	for path, into := range map[string]any{
		"/v1/kubernetes/versions": &[]kubernetes.KubernetesVersion{},
		clusters:                  &[]kubernetes.KubernetesCluster{},
		pools:                     &[]kubernetes.KubernetesNodePool{},
		pools + "/p/machines":     &[]kubernetes.KubernetesNodePoolMachine{},
	} {
		c.knowsEveryKey(t, path, into)
		if _, _, body := c.call(t, http.MethodGet, path, ""); strings.Contains(body, "0001-01-01") {
			t.Errorf("GET %s has an empty time: %s", path, body)
		}
	}
	// A project with a cluster cannot be deleted.
	request := apiRequest(t, c.url, "POST", clusters, `{"name":"h","clusterType":"hosted-control-plane",`+
		`"kubernetesVersionIdentity":"1.34.1","regionIdentity":"nl-01"}`)
	c.object(t, "POST", "/v1/projects", `{"name":"shop"}`, 201)
	request.Header.Set("X-Project-Identity", "shop")
	if answer := serve(c, request); answer.Code != 201 {
		t.Fatal(answer.Code, answer.Body)
	}
	c.object(t, "DELETE", "/v1/projects/shop", "", 400)
}

