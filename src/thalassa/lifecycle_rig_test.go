package thalassa

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// lifecycleCluster is a cluster whose nodes are machines of a lab's cloud, with the node lifecycle controller.
type lifecycleCluster struct {
	*lab
	cluster *cluster.Cluster
	process *workerpooltest.Process
}

// lifePeriod is --node-monitor-period.
const lifePeriod = 5 * time.Second

// lifeLimit is within which a node goes whose server is really deleted: until a list shows that, a grace period and two
// passes; and the pause that the client makes after an outage.
func (r *lifecycleCluster) lifeLimit() time.Duration {
	const outage = 30 * time.Second
	return r.config.Inventory.MaxMachineAge() + seconds(r.config.InstancesV2.RemovalGracePeriod) + 2*lifePeriod + outage
}

// newLifecycleCluster returns a cluster with these nodes, ready, and a process that knows them.
func newLifecycleCluster(t *testing.T, c emulator.Config, names ...string) *lifecycleCluster {
	t.Helper()
	l := newLab(t, c)
	r := &lifecycleCluster{lab: l, cluster: cluster.New(), process: workerpooltest.New(t)}
	for _, one := range l.nodes(names...) {
		r.register(one)
	}
	r.begin()
	return r
}

// register makes a node, ready.
func (r *lifecycleCluster) register(one *corev1.Node) {
	r.Helper()
	if err := r.cluster.Create(one); err != nil {
		r.Fatal(err)
	}
	r.report(one.Name, corev1.ConditionTrue)
}

// begin starts a process with the lab's configuration, after the one before has ended.
func (r *lifecycleCluster) begin() {
	r.Helper()
	r.process.End()
	r.process.Events() // and is forgotten
	r.restart()
	client, err := cluster.Client(r.cluster.Transport())
	if err != nil {
		r.Fatal(err)
	}
	r.process.Begin(client, func(factory informers.SharedInformerFactory) (func(context.Context), error) {
		provider, behaviour := r.cloud.machines, r.config.InstancesV2.Behaviour()
		life, err := nodelifecycle.New(nodelifecycle.Options{Provider: provider, Behaviour: behaviour,
			Client: client, Nodes: factory.Core().V1().Nodes(), Period: lifePeriod, Workers: 1,
			Recorder: r.process.Recorder})
		return life.Run, err
	})
	r.pass(2 * time.Second)
}

func (r *lifecycleCluster) pass(d time.Duration) { workerpooltest.Pass(d) }

// report is what the kubelet, or for Unknown kube-controller-manager, says of a node.
func (r *lifecycleCluster) report(name string, status corev1.ConditionStatus) {
	r.Helper()
	r.change(name, func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status,
			LastHeartbeatTime: metav1.Unix(1, 0)}}
	})
}

func (r *lifecycleCluster) change(name string, change func(*corev1.Node)) {
	r.Helper()
	if err := r.cluster.ChangeNode(name, change); err != nil {
		r.Fatal(err)
	}
}

// names are the nodes that there are.
func (r *lifecycleCluster) names() string {
	var names []string
	for _, one := range r.cluster.Nodes() {
		names = append(names, one.Name)
	}
	return strings.Join(names, " ")
}

// want compares.
func (r *lifecycleCluster) want(what string, got, want any) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %v, want %v; events %q; calls %v", what, got, want, r.events(), r.emulator.Counters())
	}
}

// events are those since the last time.
func (r *lifecycleCluster) events() []string { return r.process.Events() }

// act does something to the cloud.
func (r *lifecycleCluster) act(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// between puts something between the provider and the cloud: what answers nil lets the request pass.
func (r *lifecycleCluster) between(answer func(*http.Request) *http.Response) {
	good := r.network
	r.network = roundTrip(func(request *http.Request) (*http.Response, error) {
		if response := answer(request); response != nil {
			response.Request = request
			return response, nil
		}
		return good.RoundTrip(request)
	})
}

// twoOf is a seed with another organisation, and with another VPC in the first one.
func twoOf() emulator.Seed {
	seed, other := emulator.DefaultSeed(), emulator.DefaultSeed().Organisations[0]
	mine := &seed.Organisations[0]
	far := mine.VPCs[0]
	far.Identity, far.Name = otherVPC, "far"
	far.Subnets = []emulator.SubnetSeed{{Identity: "subnet-far", Name: "far", CIDRs: far.Subnets[0].CIDRs}}
	mine.VPCs = append(mine.VPCs, far)
	other.Identity, other.Name, other.Slug = "o-other", "Other", otherOrganisation
	other.PersonalAccessTokens, other.ServiceAccounts = []string{"other-token"}, nil
	other.Clients = []emulator.ClientSeed{{ID: otherClient, Secret: otherClient}}
	other.VPCs = []emulator.VPCSeed{{Identity: "vpc-theirs", Name: "theirs", Region: emulator.DefaultRegion,
		CIDRs:   far.CIDRs,
		Subnets: []emulator.SubnetSeed{{Identity: "subnet-theirs", Name: "theirs", CIDRs: far.Subnets[0].CIDRs}}}}
	seed.Organisations = append(seed.Organisations, other)
	return seed
}

// What twoOf has besides.
const (
	otherVPC          = "vpc-far"
	otherOrganisation = "other"
	otherClient       = "other-client"
)
