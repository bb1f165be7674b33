package emulator_test

import (
	"net/http"
	"strings"
	"testing"

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
	c.object(t, "POST", clusters, replaced(clusterNamed("k"), "1-34-1", "1.99.0"), 400)
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

// The default version of a new cluster is the newest that is enabled.
func TestDefaultVersionOfClusters(t *testing.T) {
	seed := func(cfg *emulator.Config) {
		cfg.Seed.KubernetesVersions = []emulator.KubernetesVersionSeed{{Name: "1.10.0"}, {Name: "1.9.12"},
			{Name: "1.11.0", Disabled: true}}
	}
	for _, version := range []string{``, `,"kubernetesVersionIdentity":""`, `,"kubernetesVersionIdentity":null`} {
		play(t, newEmulator(t, seed), []step{{request: "POST " + clusters, status: 201,
			body: `{"name":"a","subnet":"emulator"` + version + `}`, has: []string{`"kubernetesVersion":"1.10.0"`}}})
	}
	play(t, newEmulator(t, func(cfg *emulator.Config) {
		cfg.Seed.KubernetesVersions = []emulator.KubernetesVersionSeed{{Name: "1.11.0", Disabled: true}}
	}), []step{{request: "POST " + clusters, body: `{"name":"a","subnet":"emulator"}`, status: 400}})
}
