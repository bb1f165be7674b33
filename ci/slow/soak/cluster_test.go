package soak

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode"
)

const (
	// subnet has the addresses of all nodes.
	subnet = "127.87.0.0/16"
	// waitLimit bounds every wait. A Service that failed waits for 5 seconds, then 10, and so on up to 5 minutes.
	waitLimit = 6 * time.Minute
	// poolLabel is what node selectors choose by.
	poolLabel = "soak.test/pool"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// allNodes are the names of all nodes that there may be. A round begins and ends with the first three; the first one is
// there all the time, and may always have traffic.
func allNodes() []string { return []string{"a", "b", "c", "d", "e"} }

// baseNodes are how many of them a round begins with.
const baseNodes = 3

// soak is a cluster on a cloud, with its cloud controller managers.
type soak struct {
	*testing.T
	cloud     cloud.Cloud
	plane     *controlplane.ControlPlane
	api       kubernetes.Interface
	namespace string
	// folder is for files that nobody needs afterwards, evidence for what explains a failure.
	folder, evidence string
	network          *virtualnode.Network
	nodes            map[string]*machine
	// vanished are names of Nodes without a machine, which a cloud controller manager has to delete.
	vanished map[string]bool
	program  string
	replicas []*replica
	// lost is how many processes were started again because they had lost their lease.
	lost int
	// reserved are the identities of the reserved IPs, by the names of their Services.
	reserved map[string]string
	// empty counts the objects of the cloud without any Service.
	empty map[string]int
}

// machine is a machine of the cloud, and the kubelet on it.
type machine struct {
	identity string
	node     *virtualnode.Node
	uid      string // of the Node
}

// newSoak starts a cluster. The seed decides how its cloud controller managers are configured.
func newSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	s := &soak{T: t, plane: controlplanetest.Get(t), folder: t.TempDir(), nodes: map[string]*machine{},
		vanished: map[string]bool{}, reserved: map[string]string{}}
	objects := cloud.Loopback(t, subnet)
	for _, name := range serviceNames() {
		s.reserved[name] = "ip-" + name
		organisation := &objects.Organisations[0]
		organisation.ReservedIPs = append(organisation.ReservedIPs,
			emulator.ReservedIPSeed{Identity: s.reserved[name], Name: name, Region: objects.Regions[0].Name})
	}
	s.cloud = cloud.Run(t, emulator.Config{Seed: objects, Switches: emulator.Switches{ConditionalRequests: true},
		Delays: emulator.Delays{LoadbalancerCreate: 300 * time.Millisecond, LoadbalancerDelete: 200 * time.Millisecond,
			LoadbalancerLinger: 500 * time.Millisecond}})
	s.api, s.namespace = controlplanetest.Client(t, s.plane), controlplanetest.Namespace(t)
	var err error
	s.network, err = virtualnode.NewNetwork(s.plane.Config(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	s.must(err)
	t.Cleanup(s.network.Close)
	for _, name := range allNodes()[:baseNodes] {
		s.must(s.join(t.Context(), name))
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit) // the test's own has ended
		defer cancel()
		for _, name := range slices.Collect(maps.Keys(s.nodes)) {
			s.check(s.leave(ctx, name))
		}
	})
	s.startReplicas(seed)
	return s
}

func (s *soak) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// check reports an error and goes on.
func (s *soak) check(err error) {
	s.Helper()
	if err != nil {
		s.Error(err)
	}
}

// until waits for a condition.
func (*soak) until(ctx context.Context, what string, check func(context.Context) error) error {
	return poll.Limits{Every: 100 * time.Millisecond, For: waitLimit}.Until(ctx, what, check)
}

// join adds a machine to the cloud and its node to the cluster.
func (s *soak) join(ctx context.Context, name string) error {
	if _, there := s.nodes[name]; there || s.vanished[name] {
		return nil
	}
	address := netip.MustParsePrefix(subnet).Addr().As4()
	address[3] = name[0]
	at := netip.AddrFrom4(address)
	identity, err := s.cloud.AddMachine(emulator.MachineSpec{Name: name, Addresses: []netip.Addr{at}})
	if err != nil {
		return err
	}
	options := virtualnode.Options{Network: s.network, Name: name, Address: at, Dir: s.folder}
	if name == allNodes()[0] {
		options.Labels = map[string]string{poolLabel: ""}
	}
	node, err := virtualnode.Start(ctx, options)
	if err != nil {
		return err
	}
	s.nodes[name] = &machine{identity: identity, node: node}
	object, err := s.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	s.nodes[name].uid = string(object.UID)
	return nil
}

// leave deletes a node and its machine.
func (s *soak) leave(ctx context.Context, name string) error {
	one, there := s.nodes[name]
	if !there {
		return nil
	}
	delete(s.nodes, name)
	if err := one.node.Remove(ctx); err != nil {
		return err
	}
	return s.cloud.DeleteMachine(one.identity)
}

// vanish deletes a machine and ends what runs on it, which the Node does not say. A Node that names no machine yet
// would stay.
func (s *soak) vanish(ctx context.Context, name string) error {
	one, there := s.nodes[name]
	if !there {
		return nil
	}
	node, err := s.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || node.Spec.ProviderID == "" {
		return err
	}
	delete(s.nodes, name)
	s.vanished[name] = true
	if err := errors.Join(one.node.Stop(ctx), s.cloud.DeleteMachine(one.identity)); err != nil {
		return err
	}
	// What Kubernetes does after 50 seconds without news of the node.
	patch := `{"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}`
	_, err = s.api.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{}, "status")
	return err
}

// changeNode changes a Node if it is there.
func (s *soak) changeNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	if _, there := s.nodes[name]; !there {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := s.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(node)
		_, err = s.api.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
