package thalassa

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/balancer"
)

// targetCount wants so many targets of all target groups, which are the same ones, and returns them.
func (l *lab) targetCount(what string, want int) []string {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil || len(groups) == 0 {
		l.Fatalf("%s: %d target groups, error %v", what, len(groups), err)
	}
	machines := l.machines(groups[0].Name)
	for _, group := range groups {
		if others := l.machines(group.Name); len(others) != want || !slices.Equal(others, machines) {
			l.Errorf("%s: the targets are %v and %v, want %d", what, machines, others, want)
		}
	}
	return machines
}

// untilSettled is the time without changes after which targets leave that others have replaced.
const untilSettled = 5 * time.Minute

// setReady sets the condition Ready of the nodes.
func setReady(nodes []*corev1.Node) {
	for _, node := range nodes {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
}

// preferredFirst returns the machines of the nodes in the order in which they take places of the Service.
func preferredFirst(nodes []*corev1.Node, service *corev1.Service) []string {
	ready := make([]*corev1.Node, len(nodes))
	for i, node := range nodes {
		ready[i] = node.DeepCopy()
	}
	setReady(ready)
	return balancer.NewCandidates(cloud.ChooseTargets(ready, identify)).Choose(string(service.UID), len(nodes))
}

// machineOf returns the machine of a node.
func machineOf(node *corev1.Node) string {
	machine, _ := identify(node)
	return machine
}

// limitedService is a Service with a limit of two in a cluster with a service controller, its ready nodes, and their
// machines in the order in which the Service prefers them. The targets are the first two of these.
type limitedService struct {
	*lab
	cluster kubernetes.Interface
	service *corev1.Service
	nodes   map[string]*corev1.Node // by machine
	order   []string
}

func newLimitedService(t *testing.T, mode string) *limitedService {
	t.Helper()
	s := &limitedService{lab: newFeatureLab(t), service: serviceWith(annotated("max-targets", "2")),
		nodes: map[string]*corev1.Node{}}
	s.config.LoadBalancer.Drift = mode
	s.restart()
	nodes := s.lab.nodes("a", "b", "c", "d", "e", "f", "g")
	setReady(nodes)
	for _, node := range nodes {
		s.nodes[machineOf(node)] = node
	}
	s.order = preferredFirst(nodes, s.service)
	s.settle(s.service, nodes)
	s.cluster = s.watching(s.service)
	<-time.After(time.Hour)
	s.wantTargets("before", s.order[:2]...)
	s.warnings()
	return s
}

// change changes the Node on a machine.
func (s *limitedService) change(machine string, apply func(*corev1.Node)) {
	s.Helper()
	node := s.nodes[machine].DeepCopy()
	apply(node)
	if _, err := s.cluster.CoreV1().Nodes().Update(s.Context(), node, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// wantTargets wants these targets of all target groups.
func (s *limitedService) wantTargets(what string, want ...string) {
	s.Helper()
	want = slices.Sorted(slices.Values(want))
	if got := s.targetCount(what, len(want)); !slices.Equal(got, want) {
		s.Errorf("%s: the targets are %v, want %v", what, got, want)
	}
}

// setTargets replaces the targets of all target groups, as somebody else does.
func (s *limitedService) setTargets(machines ...string) {
	s.Helper()
	groups, err := s.api().ListTargetGroups(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	for _, group := range groups {
		batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group.Identity}
		for _, machine := range machines {
			batch.Attachments = append(batch.Attachments, iaas.AttachTarget{ServerIdentity: machine})
		}
		if err := s.api().SetTargetGroupServerAttachments(s.Context(), batch); err != nil {
			s.Fatal(err)
		}
	}
}

func excluded(node *corev1.Node) {
	node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
}

func unchanged(*corev1.Node) {}

// TestMaxTargetsFollowNodes: targets are added at once, and those that others have replaced leave some time later. Only
// those that are not usable any more leave at once. Nothing of it is drift, whatever drift is configured to cause.
func TestMaxTargetsFollowNodes(t *testing.T) {
	for _, mode := range tier.Pick([]string{"repair"}, []string{"repair", "report", "off"}) {
		synctest.Test(t, func(t *testing.T) {
			s := newLimitedService(t, mode)
			first := s.order[0]
			s.change(first, excluded)
			<-time.After(time.Minute)
			s.wantTargets("one is excluded", s.order[1:3]...)
			s.change(first, unchanged)
			<-time.After(time.Minute)
			s.wantTargets("it is back", s.order[:3]...)
			<-time.After(2 * untilSettled)
			s.wantTargets("and later", s.order[:2]...)

			s.change(first, func(node *corev1.Node) {
				node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
					Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue})
			})
			<-time.After(time.Minute)
			s.wantTargets("it has no network", s.order[:3]...)
			<-time.After(2 * untilSettled)
			s.wantTargets("and later", s.order[1:3]...)
			s.change(first, unchanged)
			<-time.After(3 * untilSettled)
			s.wantTargets("it has one again", s.order[:2]...)
			s.reported(mode)
		})
	}
}

// TestMaxTargetsDrift: targets that were replaced by hand are drift, as without a limit, and so is a machine that is no
// Node.
func TestMaxTargetsDrift(t *testing.T) {
	for _, mode := range tier.Pick([]string{"repair"}, []string{"repair", "report", "off"}) {
		synctest.Test(t, func(t *testing.T) {
			s := newLimitedService(t, mode)
			s.setTargets(s.order[3:5]...)
			<-time.After(time.Hour)
			switch mode {
			case "off":
				s.wantTargets(mode, s.order[3:5]...)
				s.reported(mode)
				return
			case "report":
				s.wantTargets(mode, s.order[3:5]...)
			default:
				s.wantTargets(mode, s.order[:2]...)
			}
			s.reported(mode, "LoadBalancerDrifted", "2 machines become 3")
			strange, err := s.emulator.AddMachine(emulator.MachineSpec{Name: "old"})
			if err != nil {
				t.Fatal(err)
			}
			s.setTargets(s.order[0], s.order[1], strange)
			<-time.After(time.Hour)
			s.reported(mode, "LoadBalancerDrifted", "")
		})
	}
}
