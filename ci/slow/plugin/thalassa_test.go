package plugin

import (
	"slices"
	"testing"

	official "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/formertest"
)

// TestPlugin runs the commands in one cluster, because a cluster takes long to start.
func TestPlugin(t *testing.T) {
	r := newRig(t)
	config := r.cloud.Config("plugin")
	config["cloudCredentials"] = map[string]string{"personalAccessToken": emulator.DefaultToken}
	text, err := yaml.Marshal(config)
	r.must(err)
	r.testMigration(former{
		image:    "ghcr.io/thalassa-cloud/cloud-provider-thalassa/cloud-controller-manager:v0.12.0",
		args:     []string{"--cloud-provider=thalassacloud", "--cloud-config=" + formerFiles + "/cloud.conf"},
		files:    map[string]string{"cloud.conf": string(text)},
		changing: "  + create target group ",
	})
	delete(config, "cloudCredentials")
	r.install("personalAccessToken", emulator.DefaultToken, map[string]any{"cloudConfig": config,
		"credentials": map[string]any{"existingSecret": credentials}})
	r.testReading()
	r.addOrphan()
	r.testTerminal()
	r.testDeletion([]string{person}, "DELETE /v1/loadbalancers/{id}", "DELETE /v1/loadbalancer-target-groups/{id}")
}

// newRig returns a cluster in Thalassa Cloud.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := begin(t)
	r.cloud, r.secret = cloud.Start(t, emulator.DefaultSeed()), emulator.DefaultToken
	machine, err := r.cloud.AddMachine(emulator.MachineSpec{Name: "worker"})
	r.must(err)
	client, err := thalassa.NewClient(official.WithBaseURL(r.cloud.URL),
		official.WithOrganisation(emulator.DefaultOrganisation), official.WithAuthPersonalToken(emulator.DefaultToken))
	r.must(err)
	r.plant = func(s *corev1.Service) { formertest.Of("plugin", s, nil).Plant(t, client.IaaS(), machine) }
	r.objects = func() (names []string) {
		state := r.cloud.State()
		for _, one := range state.LoadBalancers {
			names = append(names, one.Name)
		}
		for _, one := range state.TargetGroups {
			names = append(names, one.Name)
		}
		slices.Sort(names)
		return names
	}
	r.inhabit("thalassacloud://" + machine)
	return r
}

// testReading: each command shows what is there, and neither API gets a write from it.
func (r *rig) testReading() {
	r.wantNoWrites([]attempt{
		{[]string{"plan"}, 0, "create target group"},
		{[]string{"plan", "-A", "--exit-code", "-o", "json"}, 2, `"kind": "Plan"`},
		{[]string{"nodes"}, 1, "NodeNotReady"}, // no kubelet runs
		{[]string{"nodes", "-o", "yaml"}, 1, "kind: Nodes"},
		{[]string{"orphans"}, 0, "Every object of this cluster"},
		{[]string{"orphans", "-o", "json"}, 0, `"kind": "Orphans"`},
		{[]string{"top", "--once", "-A"}, 0, "default/web"},
		{[]string{"top", "--once", "-A", "-o", "json"}, 0, `"kind": "Top"`},
		{[]string{"doctor"}, 1, "DaemonSet kube-system/thalassa-ccm"}, // no pod runs
		{[]string{"doctor", "-o", "json"}, 1, `"kind": "Doctor"`},
		{[]string{"doctor", "-v=7"}, 1, "Authorization: Bearer <masked>"},
		{[]string{"migrate"}, 1, "plan"}, // the plan is not empty
		{[]string{"migrate", "-o", "json"}, 1, `"kind": "Migration"`},
	}, person)
}
