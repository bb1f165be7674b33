package thalassa

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/trial"
)

// story is something that happens to a Service.
type story struct {
	name string
	// begin brings the cloud to where it starts. The Service "web" has the ports 80 and 443, the nodes are a and b.
	begin func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start
	// has is what our cluster has in the cloud afterwards, see lab.holdings; nothing by default.
	has []string
	// crashes says that the story differs from others in where a process can end, and not in what calls it makes, so that
	// faults have been tried elsewhere.
	crashes bool
	// under are the behaviours of the cloud that make a difference, besides the default.
	under map[string]emulator.Switches
}

// Behaviours of the cloud that no public source settles.
var (
	merging = map[string]emulator.Switches{"merging": {Updates: emulator.Merge}}
	inline  = map[string]emulator.Switches{
		"listeners-ignored": {InlineListeners: emulator.IgnoreListeners},
		"listeners-refused": {InlineListeners: emulator.RefuseListeners},
	}
	late = map[string]emulator.Switches{"late-release": {LateRelease: true}}
)

// asBefore is what the Service has in the beginning.
func asBefore() []string { return []string{"443/tcp to 30443 on a b", "80/tcp to 30080 on a b"} }

// stories are all of them. Those about a change begin with what the Service had before.
func stories() []story {
	return append(nodeStories(), append(endings(), []story{
		{name: "create", has: asBefore(), under: inline, begin: (*lab).ensuring},
		{name: "port", has: []string{"80/tcp to 30080 on a b", "8443/tcp to 30443 on a b"}, begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].Port = 8443 })},
		{name: "port-name", has: asBefore(), crashes: true, begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].Name = "tls" })},
		{name: "node-port", has: []string{"443/tcp to 31000 on a b", "80/tcp to 30080 on a b"}, under: merging, begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].NodePort = 31000 })},
		{name: "protocol", has: []string{"443/udp to 30443 on a b", "80/tcp to 30080 on a b"}, begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].Protocol = corev1.ProtocolUDP })},
		{name: "settings", has: asBefore(), under: merging, begin: changing(func(web *corev1.Service) {
			web.Annotations[annotationPrefix+"idle-connection-timeout"] = "60"
			web.Annotations[annotationPrefix+"loadbalancing-policy"] = "MAGLEV"
		})},
		{name: "labels", has: asBefore(), under: merging, begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
			l.settle(web, nodes)
			l.config.AdditionalLabels = map[string]string{"team": "till"}
			return l.ensuring(web, nodes)
		}},
		{name: "vanished", has: asBefore(), crashes: true, under: inline, begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
			l.settle(web, nodes)
			l.byHand(web)
			return l.ensuring(web, nodes)
		}},
	}...)...)
}

// changing is a Service that gets its load balancer and is changed then.
func changing(change func(web *corev1.Service)) func(*lab, *corev1.Service, []*corev1.Node) trial.Start {
	return func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
		l.settle(web, nodes)
		change(web)
		return l.ensuring(web, nodes)
	}
}

func nodeStories() []story {
	return []story{
		{name: "node-joins", has: []string{"443/tcp to 30443 on a b c", "80/tcp to 30080 on a b c"}, begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
			l.settle(web, nodes)
			return l.following(web, append(nodes, known("c")...))
		}},
		{name: "node-leaves", has: []string{"443/tcp to 30443 on a", "80/tcp to 30080 on a"}, crashes: true, begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
			l.settle(web, nodes)
			return l.following(web, nodes[:1])
		}},
		{name: "server-deleted", has: []string{"443/tcp to 30443 on a c", "80/tcp to 30080 on a c"}, under: map[string]emulator.Switches{"attachments-kept": {KeepDeletedMachines: true}},
			begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
				l.settle(web, nodes)
				if err := l.emulator.DeleteMachine("b"); err != nil {
					l.Fatal(err)
				}
				return l.following(web, append(nodes, known("c")...)) // the node of b is still there
			}},
	}
}

// endings are the ways in which a Service is deleted.
func endings() []story {
	return []story{
		{name: "delete", under: late, begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
			l.settle(web, nodes)
			return l.deleting(web)
		}},
		{name: "delete-vanished", under: late, begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
			l.settle(web, nodes)
			l.byHand(web)
			return l.deleting(web)
		}},
		{name: "delete-vanishing", crashes: true, under: late, begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) trial.Start {
			l.settle(web, nodes)
			l.deleteBalancer(web)
			return l.deleting(web)
		}},
		{name: "delete-nothing", crashes: true, begin: func(l *lab, web *corev1.Service, _ []*corev1.Node) trial.Start { return l.deleting(web) }},
	}
}

// byHand removes the Service's load balancer without the provider, and waits until it is gone.
func (l *lab) byHand(web *corev1.Service) {
	l.Helper()
	l.deleteBalancer(web)
	<-time.After(time.Minute)
}

func (l *lab) deleteBalancer(web *corev1.Service) {
	l.Helper()
	balancers, err := l.cloud.balancers.inventory.LoadBalancersOf(l.Context(), string(web.UID), time.Hour)
	if err != nil || len(balancers) != 1 {
		l.Fatalf("load balancers %v, error %v; want one", balancers, err)
	}
	if err := l.api().DeleteLoadbalancer(l.Context(), balancers[0].ID); err != nil {
		l.Fatal(err)
	}
}

// scenario is the story under some behaviour of the cloud.
func (s story) scenario(behaviour string, switches emulator.Switches) trial.Scenario {
	name := s.name
	if behaviour != "" {
		name += "-" + behaviour
	}
	return trial.Scenario{
		Name: name,
		// A cloud that takes its time, so that work has phases to be disturbed in.
		Cloud: emulator.Config{Seed: emulator.DefaultSeed(), Switches: switches, Delays: emulator.Delays{
			LoadbalancerCreate: 2 * time.Second, LoadbalancerDelete: time.Second, LoadbalancerLinger: 30 * time.Second,
		}},
		Foreign: neighbourhood,
		Begin: func(t *testing.T, cloud *emulator.Emulator) trial.Start {
			t.Helper()
			return s.begin(labIn(t, cloud), service("web", 80, 443), known("a", "b"))
		},
		Check: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			if diff := cmp.Diff(s.has, labIn(t, cloud).holdings()); diff != "" {
				t.Errorf("what our cluster has (-want +got):\n%s", diff)
			}
		},
	}
}

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
		if balancer.Labels[labelCluster] == l.config.Cluster && len(balancer.LoadbalancerListeners) == 0 {
			found = append(found, "a load balancer without ports")
		}
	}
	for _, group := range groups {
		if group.Labels[labelCluster] == l.config.Cluster {
			found = append(found, portOf(group))
		}
	}
	slices.Sort(found)
	return found
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
func (s story) everywhere() []trial.Scenario {
	all := []trial.Scenario{s.scenario("", emulator.Switches{})}
	for name, switches := range s.under {
		all = append(all, s.scenario(name, switches))
	}
	return all
}

// known are nodes on the machines of the neighbourhood.
func known(names ...string) []*corev1.Node {
	var nodes []*corev1.Node
	for _, name := range names {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID(serverID(name))}})
	}
	return nodes
}

// serverID is the identity of a machine of the neighbourhood.
func serverID(name string) string { return "vm-0000000000000000000" + name }

// neighbourhood is what is in the VPC of every story: the machines a, b and c, and another cluster whose Service has the same
// name, namespace and even UID.
func neighbourhood(t *testing.T, cloud *emulator.Emulator) {
	t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		if _, err := cloud.AddMachine(emulator.MachineSpec{Identity: serverID(name), Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	web := service("web", 80)
	labels := iaas.Labels{labelCluster: "k8s-other", labelManaged: "true", labelUID: string(web.UID), labelNamespace: web.Namespace}
	name := "a0a1b2c3dweb"
	api := labIn(t, cloud).api()
	group, err := api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: name + "-p80", Labels: labels, Vpc: emulator.DefaultVPC, TargetPort: 30080, Protocol: iaas.ProtocolTCP,
	})
	if err != nil {
		t.Fatal(err)
	}
	balancer, err := api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: name, Labels: labels, Subnet: emulator.DefaultSubnet})
	if err != nil {
		t.Fatal(err)
	}
	listener := iaas.CreateListener{Name: name + "-p80", Labels: labels, Port: 80, Protocol: iaas.ProtocolTCP, TargetGroup: group.Identity}
	if _, err := api.CreateListener(t.Context(), balancer.Identity, listener); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Minute) // until it is ready: time must not change it during the work
}
