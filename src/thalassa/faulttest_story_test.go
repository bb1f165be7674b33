package thalassa

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service/cluster"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/faulttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// story is something that happens to a Service.
type story struct {
	name string
	// begin brings the cloud to where it starts. The Service "web" has the ports 80 and 443, the nodes are a and b.
	begin func(l *lab, web *corev1.Service, nodes []*corev1.Node) faulttest.Start
	// has is what our cluster has in the cloud afterwards, see lab.holdings; nothing by default.
	has []string
	// stays are the ports that are open all the time.
	stays []string
	// complete says that every call meets every fault. The others, most of whose calls are like those, meet some.
	complete bool
	// doubles is how many writes the process may need to make and remove what is there already; then it does not matter
	// which of two target groups of the same port is left.
	doubles int
	// inProject says that all our cluster has is in a project.
	inProject bool
	// together says that another cluster works in the VPC at the same time, see living.
	together bool
	// under are the behaviours of the cloud that make a difference, besides the default.
	under map[string]behaviour
}

// behaviour is one of those that no public source settles.
type behaviour func(*emulator.Config)

var (
	merging = map[string]behaviour{"merging": func(c *emulator.Config) { c.Switches.Updates = emulator.Merge }}
	inline  = map[string]behaviour{
		"listeners-ignored": func(c *emulator.Config) { c.Switches.InlineListeners = emulator.IgnoreListeners },
		"listeners-refused": func(c *emulator.Config) { c.Switches.InlineListeners = emulator.RefuseListeners },
	}
	making = map[string]behaviour{
		"listeners-ignored": inline["listeners-ignored"], "listeners-refused": inline["listeners-refused"],
		"hostnames": func(c *emulator.Config) { c.Switches.LoadbalancerHostnames = true },
	}
	endless = map[string]behaviour{
		"late-release": func(c *emulator.Config) { c.Switches.LateRelease = true },
		"answered-200": func(c *emulator.Config) {
			c.Switches.DoneStatus, c.Switches.DoneBody = http.StatusOK, emulator.ObjectBody
		},
	}
	wordy = map[string]behaviour{
		"answered-list": func(c *emulator.Config) {
			c.Switches.DoneStatus, c.Switches.DoneBody = http.StatusOK, emulator.ListBody
		},
		"answered-null": func(c *emulator.Config) {
			c.Switches.DoneStatus, c.Switches.DoneBody = http.StatusAccepted, emulator.NullBody
		},
	}
	updating = map[string]behaviour{"updating": func(c *emulator.Config) {
		c.Delays.LoadbalancerUpdate = 10 * time.Second
	}}
	conditional = map[string]behaviour{"conditional": func(c *emulator.Config) {
		c.Switches.ConditionalRequests = true
	}}
	machines = map[string]behaviour{
		"attachments-kept": func(c *emulator.Config) { c.Switches.KeepDeletedMachines = true },
		"lingering":        func(c *emulator.Config) { c.Delays.MachineLinger = 1000 * time.Hour },
		"unknown-is-404":   func(c *emulator.Config) { c.Switches.TargetStatus = http.StatusNotFound },
		"unknown-is-422":   func(c *emulator.Config) { c.Switches.TargetStatus = http.StatusUnprocessableEntity },
	}
)

// asBefore is what the Service has in the beginning.
func asBefore() []string { return []string{"443/tcp to 30443 on a b", "80/tcp to 30080 on a b"} }

// both are the ports of the Service.
func both() []string { return []string{"80/tcp", "443/tcp"} }

// stories are all of them. Those about a change begin with what the Service had before.
func stories() []story {
	all := []story{
		{name: "create", complete: true, has: asBefore(), under: making, begin: (*lab).creating},
		{name: "port", complete: true, has: []string{"80/tcp to 30080 on a b", "8443/tcp to 30443 on a b"},
			stays: []string{"80/tcp"}, under: updating,
			begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].Port = 8443 })},
		{name: "port-name", has: asBefore(), stays: both(), begin: changing(func(web *corev1.Service) {
			web.Spec.Ports[1].Name = "tls"
		})},
		{name: "node-port", has: []string{"443/tcp to 31000 on a b", "80/tcp to 30080 on a b"}, stays: both(),
			under: merging,
			begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].NodePort = 31000 })},
		{name: "protocol", has: []string{"443/udp to 30443 on a b", "80/tcp to 30080 on a b"},
			stays: []string{"80/tcp"},
			begin: changing(func(web *corev1.Service) { web.Spec.Ports[1].Protocol = corev1.ProtocolUDP })},
		{name: "settings", has: asBefore(), stays: both(), under: merging, begin: changing(func(web *corev1.Service) {
			web.Annotations[label.AnnotationPrefix+"idle-connection-timeout"] = "60"
			web.Annotations[label.AnnotationPrefix+"loadbalancing-policy"] = "MAGLEV"
		})},
		{name: "security-group", has: asBefore(), stays: both(), begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			return l.kept(web, nodes, edits(annotated(nameCreateGroup, "true")), edits(func(web *corev1.Service) {
				delete(web.Annotations, label.AnnotationPrefix+nameCreateGroup)
			}))
		}},
		{name: "labels", has: asBefore(), stays: both(), under: merging, begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			l.config.AdditionalLabels = map[string]string{"team": "till"}
			return l.ensuring(web, nodes)
		}},
		{name: "vanished", has: asBefore(), under: inline, begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			l.byHand(web)
			return l.ensuring(web, nodes)
		}},
		{name: "drift", has: asBefore(), stays: []string{"80/tcp"}, under: conditional,
			begin: (*lab).drifted},
		{name: "restart-stale", doubles: 3, has: []string{"80/tcp to 30080 on a b", "8443/tcp to 30443 on a b"},
			stays: []string{"80/tcp", "8443/tcp"}, under: conditional, begin: (*lab).restarted},
		{name: "project-create", has: asBefore(), inProject: true, begin: (*lab).creating},
		{name: "project-delete", inProject: true, begin: (*lab).deletingWhole},
	}
	return slices.Concat(nodeStories(), endings(), claimStories(), policyStories(), togetherStories(), all)
}

// published makes the Service's load balancer and, as the service controller does, its status.
func (l *lab) published(web *corev1.Service, nodes []*corev1.Node) {
	l.Helper()
	web.Status.LoadBalancer = *l.settle(web, nodes)
}

// changing is a Service that gets its load balancer and is changed then.
func changing(change func(web *corev1.Service)) func(*lab, *corev1.Service, []*corev1.Node) faulttest.Start {
	return func(l *lab, web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
		l.published(web, nodes)
		return l.kept(web, nodes, edits(change))
	}
}

func nodeStories() []story {
	return []story{
		{name: "node-joins", complete: true, under: wordy, has: []string{"443/tcp to 30443 on a b c",
			"80/tcp to 30080 on a b c"}, stays: both(), begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			return l.kept(web, nodes, creates(known("c")[0]))
		}},
		{name: "node-leaves", has: []string{"443/tcp to 30443 on a", "80/tcp to 30080 on a"}, stays: both(),
			begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
				l.published(web, nodes)
				return l.kept(web, nodes, deletes(nodes[1]))
			}},
		{name: "server-deleted", has: []string{"443/tcp to 30443 on a c", "80/tcp to 30080 on a c"}, stays: both(),
			under: machines,
			begin: func(l *lab, web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
				l.published(web, nodes)
				if err := l.emulator.DeleteMachine("b"); err != nil {
					l.Fatal(err)
				}
				// the node of b is still there, and its machine is looked for
				t := l.testCluster(web, nodes, creates(known("c")[0]))
				t.driftChecked, t.met = true, l.has([]string{"443/tcp to 30443 on a c", "80/tcp to 30080 on a c"})
				return t.start
			}},
	}
}

// endings are the ways in which a Service is deleted.
func endings() []story {
	return []story{
		{name: "delete", complete: true, under: endless, begin: (*lab).deletingWhole},
		{name: "delete-vanished", under: endless, begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			l.byHand(web)
			return l.deleting(web)
		}},
		{name: "delete-vanishing", under: endless, begin: func(l *lab, web *corev1.Service,
			nodes []*corev1.Node) faulttest.Start {
			l.published(web, nodes)
			l.deleteBalancer(web)
			return l.deleting(web)
		}},
		{name: "delete-nothing", begin: func(l *lab, web *corev1.Service, _ []*corev1.Node) faulttest.Start {
			return l.deleting(web)
		}},
	}
}

// deletingWhole is a process that removes a load balancer that is as it should be.
func (l *lab) deletingWhole(web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
	l.Helper()
	l.published(web, nodes)
	return l.kept(web, nodes, deletes(web))
}

// creating is a process in whose cluster the Service is made.
func (l *lab) creating(web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
	l.Helper()
	return l.kept(nil, nodes, creates(web))
}

// drifted is a process that finds, looking around, that somebody closed a port and took all machines out of the other's
// group.
func (l *lab) drifted(web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
	l.Helper()
	l.published(web, nodes)
	t := l.testCluster(web, nodes, func(*cluster.Cluster) error { return l.damage(web) })
	t.driftChecked, t.met = true, l.has(asBefore())
	return t.start
}

// damage closes a port of the Service's load balancer and takes all machines out of the target group of the other one.
func (l *lab) damage(web *corev1.Service) error {
	balancer, err := l.api().GetLoadbalancer(l.Context(), l.ours(web))
	if err != nil {
		return err
	}
	for _, listener := range balancer.LoadbalancerListeners {
		if listener.Port == 443 {
			err = l.api().DeleteListener(l.Context(), balancer.Identity, listener.Identity)
		} else {
			batch := iaas.TargetGroupAttachmentsBatch{TargetGroupID: listener.TargetGroup.Identity,
				Attachments: []iaas.AttachTarget{}}
			err = l.api().SetTargetGroupServerAttachments(l.Context(), batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the cloud has that of our cluster, see holdings.
func (l *lab) has(want []string) func() error {
	return func() error {
		if found := l.holdings(); !slices.Equal(found, want) {
			return fmt.Errorf("the cloud has %q, want %q", found, want)
		}
		return nil
	}
}

// restarted is a process that starts while the cloud's lists lag: for half a minute they do not show the change of a
// port that the process before it made.
func (l *lab) restarted(web *corev1.Service, nodes []*corev1.Node) faulttest.Start {
	l.Helper()
	l.published(web, nodes)
	// The cloud's past is known from when the rule is added.
	if _, err := l.emulator.Inject(fault.Rule{Operation: "GET *", From: time.Hour + time.Second, Until: time.Hour +
		lagging,
		Effect: fault.Effect{Kind: fault.Stale, Delay: lagging}}); err != nil {
		l.Fatal(err)
	}
	<-time.After(time.Hour)
	web.Spec.Ports[1].Port = 8443
	l.published(web, nodes)
	<-time.After(time.Second)
	return l.ensuring(web, nodes)
}

// lagging is for how long lists lag, and how far.
const lagging = 30 * time.Second

// byHand removes the Service's load balancer without the provider, and waits until it is gone.
func (l *lab) byHand(web *corev1.Service) {
	l.Helper()
	l.deleteBalancer(web)
	<-time.After(time.Minute)
}

func (l *lab) deleteBalancer(web *corev1.Service) {
	l.Helper()
	if err := l.api().DeleteLoadbalancer(l.Context(), l.ours(web)); err != nil {
		l.Fatal(err)
	}
}

// ours is the identity of the Service's load balancer.
func (l *lab) ours(web *corev1.Service) string {
	l.Helper()
	balancers, err := l.cloud.balancers.inventory.LoadBalancersOf(l.Context(), string(web.UID), time.Hour, 1)
	if err != nil || len(balancers) != 1 {
		l.Fatalf("load balancers %v, error %v; want one", balancers, err)
	}
	return balancers[0].ID
}
