package thalassa

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// The project of stories that are in one.
const testProject = "prj-0000000000000000shop"

// scenario is the story under some behaviour of the cloud, nil for the default.
func (s story) scenario(name string, under behaviour) faulttest.Scenario {
	// A cloud that takes its time, so that work has phases to be disturbed in.
	cloud := emulator.Config{Seed: s.seed(), Delays: emulator.Delays{
		LoadbalancerCreate: 2 * time.Second, LoadbalancerDelete: time.Second, LoadbalancerLinger: 30 * time.Second,
	}}
	if under != nil {
		under(&cloud)
		name = "-" + name
	}
	scenario := faulttest.Scenario{
		Name: s.name + name, Cloud: cloud, Always: s.always, Replaceable: s.doubles > 0,
		Spare: s.doubles, Share: tierSize().faultShare, Middleware: openapitest.Sampled,
		Foreign: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			s.lab(t, cloud).seedVPC(s.servers()...)
			if s.inProject {
				labIn(t, cloud).doubles()
			}
		},
		Begin: func(t *testing.T, cloud *emulator.Emulator) faulttest.Start {
			t.Helper()
			return s.begin(s.lab(t, cloud), service("web", 80, 443), known("a", "b"))
		},
		Check: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			if diff := gocmp.Diff(s.has, s.lab(t, cloud).holdings()); diff != "" {
				t.Errorf("what our cluster has (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(afterItsLife(), otherCluster(t, cloud).holdings()); s.together && diff != "" {
				t.Errorf("what the other cluster has (-want +got):\n%s", diff)
			}
		},
	}
	if s.together {
		scenario.ConcurrentActor = concurrentActor()
	}
	return scenario
}

// servers are the names of all machines.
func (s story) servers() []string {
	if s.together {
		return []string{"a", "b", "c", "y", "z"}
	}
	return []string{"a", "b", "c"}
}

// seed is what the cloud is made of: one VPC, or one in the organisation and one in a project.
func (s story) seed() emulator.Seed {
	seed := emulator.DefaultSeed()
	if owner := &seed.Organisations[0]; s.together {
		next := nextCredentials()
		owner.Clients = append(slices.Clone(owner.Clients), emulator.ClientSeed{ID: next.ClientID,
			Secret: next.ClientSecret})
	}
	if owner := &seed.Organisations[0]; s.inProject {
		owner.Projects = []emulator.ProjectSeed{{Identity: testProject, Name: "shop", VPCs: owner.VPCs}}
		outside := owner.VPCs[0]
		outside.Identity, outside.Name, outside.Subnets = "vpc-00000000000000000out", "outside",
			slices.Clone(outside.Subnets)
		outside.Subnets[0].Identity, outside.Subnets[0].Name = "subnet-00000000000000000out", "outside"
		owner.VPCs = []emulator.VPCSeed{outside}
	}
	return seed
}

// lab is the provider as the story configures it.
func (s story) lab(t *testing.T, cloud *emulator.Emulator) *lab {
	t.Helper()
	l := labIn(t, cloud)
	if s.inProject {
		l.config.Project = testProject
		l.restart()
	}
	return l
}

// always is what holds in every moment: ports that stay are open, what is open leads somewhere, and no target group
// that had machines loses all of them, neither ours nor one of a cluster that works at the same time.
func (s story) always(was, is emulator.State) error {
	had := map[string]int{}
	for _, group := range was.TargetGroups {
		had[group.Identity] = len(group.Machines)
	}
	for _, group := range is.TargetGroups {
		empty := (ourCluster(group.Labels) || group.Labels[label.Cluster] == nextCluster) && len(group.Machines) == 0
		if empty && had[group.Identity] > 0 && s.name != "drift" {
			return fmt.Errorf("target group %s lost all its %d machines", group.Name, had[group.Identity])
		}
		if empty && len(group.Listeners) > 0 && s.name != "drift" {
			return fmt.Errorf("a listener leads to target group %s, which has no machines", group.Name)
		}
	}
	if len(s.stays) == 0 {
		return nil
	}
	open := map[string]bool{}
	for _, balancer := range is.LoadBalancers {
		for _, listener := range balancer.Listeners {
			port := fmt.Sprintf("%d/%s", listener.Port, listener.Protocol)
			open[port] = open[port] || ourCluster(balancer.Labels)
		}
	}
	for _, port := range s.stays {
		if !open[port] {
			return fmt.Errorf("port %s is closed", port)
		}
	}
	return nil
}

// ourCluster reports whether an object with these labels belongs to it.
func ourCluster(labels map[string]string) bool { return labels[label.Cluster] == "k8s-test" }

// holdings are the ports of all our load balancers, with where they lead, and what belongs to none of them; sorted.
func (l *lab) holdings() []string {
	l.Helper()
	balancers, err := l.api().ListLoadbalancers(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	var found []string
	for _, balancer := range balancers {
		if balancer.Labels[label.Cluster] == l.config.Cluster && len(balancer.LoadbalancerListeners) == 0 {
			found = append(found, "a load balancer without ports")
		}
	}
	for _, group := range groups {
		if group.Labels[label.Cluster] == l.config.Cluster {
			found = append(found, portOf(group)+closedBy(balancers, group.Identity))
		}
	}
	securityGroups, err := l.api().ListSecurityGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	for _, group := range securityGroups {
		if group.Labels[label.Cluster] == l.config.Cluster {
			found = append(found, "a security group for "+group.Labels[label.ServiceName])
		}
	}
	slices.Sort(found)
	return found
}

// closedBy says who may reach the port in front of a target group, if not everybody.
func closedBy(balancers []iaas.VpcLoadbalancer, group string) string {
	for _, balancer := range balancers {
		for _, listener := range balancer.LoadbalancerListeners {
			if listener.TargetGroup != nil && listener.TargetGroup.Identity == group &&
				len(listener.AllowedSources) > 0 {
				return " for " + strings.Join(listener.AllowedSources, " ")
			}
		}
	}
	return ""
}

// portOf is where a target group gets its traffic from and leads it to.
func portOf(group iaas.VpcLoadbalancerTargetGroup) string {
	var from, to []string
	for _, listener := range group.LoadbalancerListeners {
		from = append(from, fmt.Sprintf("%d/%s", listener.Port, listener.Protocol))
	}
	for _, attachment := range group.LoadbalancerTargetGroupAttachments {
		to = append(to, attachment.VirtualMachineInstance.Name)
	}
	slices.Sort(to)
	return fmt.Sprintf("%s to %d on %s", strings.Join(from, " and "), group.TargetPort, strings.Join(to, " "))
}

// everywhere are the story's scenarios under all behaviours that make a difference.
func (s story) everywhere() []faulttest.Scenario {
	all := []faulttest.Scenario{s.scenario("", nil)}
	for _, name := range slices.Sorted(maps.Keys(s.under)) {
		all = append(all, s.scenario(name, s.under[name]))
	}
	return all
}

// known are nodes on the machines of seedVPC.
func known(names ...string) []*corev1.Node {
	var nodes []*corev1.Node
	for _, name := range names {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.NodeSpec{ProviderID: providerid.Of(serverID(name))}})
	}
	return nodes
}

// serverID is the identity of a machine of seedVPC.
func serverID(name string) string { return "vm-0000000000000000000" + name }

// seedVPC creates what is in the VPC of every scenario: machines, and another cluster with a Service of the same name,
// namespace and UID.
func (l *lab) seedVPC(servers ...string) {
	l.Helper()
	for _, name := range servers {
		if _, err := l.emulator.AddMachine(emulator.MachineSpec{Identity: serverID(name), Name: name,
			Subnet: emulator.DefaultSubnet}); err != nil {
			l.Fatal(err)
		}
	}
	web := service("web", 80)
	l.plantBalancer(emulator.DefaultVPC, emulator.DefaultSubnet, iaas.Labels{label.Cluster: "k8s-other",
		label.Managed: "true", label.ServiceUID: string(web.UID), label.ServiceNamespace: web.Namespace})
	<-time.After(time.Minute) // until it is ready: time must not change it during the work
}

// doubles are, in the organisation itself, a load balancer and a target group that look exactly like ours in the
// project.
func (l *lab) doubles() {
	l.Helper()
	web := service("web", 80)
	group := l.plantBalancer("outside", "outside",
		iaas.Labels{label.Cluster: l.config.Cluster, label.Managed: "true", label.ServiceUID: string(web.UID),
			label.ServiceNamespace: web.Namespace})
	if _, err := l.emulator.AddMachine(emulator.MachineSpec{Identity: serverID("x"), Name: "x",
		Subnet: "outside"}); err != nil {
		l.Fatal(err)
	}
	batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: group,
		Attachments: []iaas.AttachTarget{{ServerIdentity: serverID("x")}}}
	if err := l.api().SetTargetGroupServerAttachments(l.Context(), batch); err != nil {
		l.Fatal(err)
	}
	<-time.After(time.Minute)
}

// plantBalancer makes a load balancer with one port, without the provider, and returns its target group, which has no
// machines.
func (l *lab) plantBalancer(vpc, subnet string, labels iaas.Labels) (group string) {
	l.Helper()
	name := "a0a1b2c3dweb"
	made, err := l.api().CreateTargetGroup(l.Context(), iaas.CreateTargetGroup{
		Name: name + "-p80", Labels: labels, Vpc: vpc, TargetPort: 30080, Protocol: iaas.ProtocolTCP,
	})
	if err != nil {
		l.Fatal(err)
	}
	balancer, err := l.api().CreateLoadbalancer(l.Context(), iaas.CreateLoadbalancer{Name: name, Labels: labels,
		Subnet: subnet})
	if err != nil {
		l.Fatal(err)
	}
	listener := iaas.CreateListener{Name: name + "-p80", Labels: labels, Port: 80, Protocol: iaas.ProtocolTCP,
		TargetGroup: made.Identity}
	if _, err := l.api().CreateListener(l.Context(), balancer.Identity, listener); err != nil {
		l.Fatal(err)
	}
	return made.Identity
}
