package traffic

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
)

const (
	// pace is what is promised: so many new connections a second to the port that stays. The load is a little more.
	pace, mainPace = 200, 220
	// streams stay open beside them.
	streams = 20
	// localPace, localStreams and sidePace are those of the other Service, and of the port that changes.
	localPace, localStreams, sidePace = 40, 5, 100
	// enough new connections after a change show what it did.
	enough = 200
	// outage is how long the cloud's API is away, and late when something changes in an outage: tried again too early,
	// and then ever more rarely, it would take as long once more, and shows nothing else.
	outage, late = 20 * time.Second, 15 * time.Second
	// policyAnnotation says how connections are spread over the targets.
	policyAnnotation = "loadbalancer.k8s.thalassa.cloud/loadbalancing-policy"
	// limitAnnotation says how many targets there may be.
	limitAnnotation = "loadbalancer.k8s.thalassa.cloud/max-targets"
)

// scene is what goes on while things change.
type scene struct {
	*cluster
	webLB, localLB string // identities of the load balancers
	// main is on the port of web that stays and side on the one that changes, beside is on that of local. lateStreams
	// began once nodes had joined.
	main, side, beside, lateStreams *load.Load
	began                           time.Time // of the load
	left                            []string  // who may have stopped to be a target until now
}

// TestTraffic proves that no connection fails while one healthy target exists throughout. Before, during and after
// every change 200 new connections a second and 20 streams go through the load balancer of a Service, and some more
// through that of a second Service, whose policy is Local; both have real node ports behind them.
//
// No new connection to a port that stays may fail, whatever changes: nodes, other ports, node ports of other ports, the
// policy of load balancing, externalTrafficPolicy, the processes of the cloud controller manager, the cloud's API. The
// load balancer must have a listener for every port that stays, and no listener may be without targets, at any moment:
// the recorder has each. Streams end with their targets, and with nothing else.
//
// Two things are no failures of the manager, and are distinguished from those that are, one by one:
//
//   - A connection that was open, or being opened, to a target at the moment at which that target was removed: the
//     cloud ends the connections to a target with it. Connections live for a millisecond here, so it is one of a
//     thousand.
//   - A connection to a port whose node port changes, between the change in Kubernetes and the moment at which the
//     cloud sends to the new one. Kubernetes has no order for this: nodes answer on the new node port, and no more on
//     the old one, as soon as they know the Service, as does the manager. So no target is healthy until the cloud is
//     changed, and has checked the new ones. The period is measured, and connections may fail in it only; the port
//     has its listener and its targets all the time.
func TestTraffic(t *testing.T) {
	s := newScene(t)
	for _, step := range []struct {
		name   string
		leaves string // who may stop to be a target meanwhile, once; empty: none
		change func(*scene, *testing.T)
	}{
		{"two nodes join", "", (*scene).join},
		{"a node leaves", "d", (*scene).leave},
		{"a node is excluded", "e", (*scene).label},
		{"a node port changes", "", (*scene).changeNodePort},
		{"a port comes and another goes", "", (*scene).changePorts},
		{"the policy changes", "", (*scene).changePolicy},
		{"Cluster becomes Local", "", (*scene).toLocal},
		{"Local becomes Cluster", "", (*scene).toCluster},
		{"the leader is killed", "", (*scene).killLeader},
		{"the leader is stopped", "e", (*scene).stopLeader},
		{"both processes restart", "", (*scene).restartBoth},
		{"the API refuses", "e", (*scene).refuse},
		{"the API hangs", "", (*scene).hang},
		{"lists are stale", "e", (*scene).staleLists},
		{"the autoscaler marks a node", "e", (*scene).mark},
		{"the autoscaler keeps a node", "", (*scene).unmark},
		{"Local leads to nodes with pods only", "", (*scene).podsOnly},
		{"a node gets pods", "", (*scene).podsMove},
		{"the number of targets is limited", "e", (*scene).limit},
	} {
		passed := t.Run(step.name, func(t *testing.T) {
			began := time.Now()
			defer func() { t.Logf("%s: %s", time.Since(began).Round(time.Millisecond), s.main.Report().Since(began)) }()
			step.change(s, t)
			s.more(t, s.main, time.Now())
			s.judge(t, began, step.leaves)
			s.left = append(s.left, step.leaves)
		})
		if !passed {
			break // what follows begins where this should have ended
		}
	}
	s.end(t)
}

// newScene starts everything, and the load.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{cluster: newCluster(t)}
	s.startNodes(t)
	s.install(t)
	s.startPods(t)
	s.webLB = s.startService(t, web, corev1.ServiceExternalTrafficPolicyCluster, stays, changes)
	s.localLB = s.startService(t, local, corev1.ServiceExternalTrafficPolicyLocal, stays)
	eventually(t, "all targets are in use", func(context.Context) error {
		return errors.Join(s.allHealthy(t, s.webLB, "a", "b", "c"), s.allHealthy(t, s.localLB, "a", "b", "c"))
	})
	s.began = time.Now()
	s.main = s.start(t, s.webLB, stays, load.Options{Pace: mainPace, Streams: streams})
	s.side = s.start(t, s.webLB, changes, load.Options{Pace: sidePace})
	s.beside = s.start(t, s.localLB, stays, load.Options{Pace: localPace, Streams: localStreams})
	s.more(t, s.main, time.Now())
	return s
}

// start starts load on a port; it ends with the test.
func (s *scene) start(tb testing.TB, balancer string, port int, o load.Options) *load.Load {
	tb.Helper()
	o.Dial = load.TCP(s.served(tb, balancer, port))
	l := load.Start(o)
	tb.Cleanup(l.Stop)
	return l
}

// more waits until enough connections that began after a time have ended.
func (s *scene) more(t *testing.T, l *load.Load, begin time.Time) load.Report {
	t.Helper()
	var report load.Report
	eventually(t, "enough connections were made", func(context.Context) error {
		if report = l.Report().Since(begin); len(report.Attempts) < enough {
			return fmt.Errorf("%d connections", len(report.Attempts))
		}
		return nil
	})
	return report
}

// judge wants that nothing failed since a time, that nothing was missing at any moment, that no target left but those
// that may, and that streams outlived other changes.
func (s *scene) judge(t *testing.T, begin time.Time, leave ...string) {
	t.Helper()
	s.judgePort(t, s.webLB, s.main.Report(), begin, leave)
	s.judgePort(t, s.localLB, s.beside.Report(), begin, leave)
	if s.lateStreams != nil {
		s.judgePort(t, s.webLB, s.lateStreams.Report(), begin, leave)
	}
}

// judgePort is judge for one load balancer, and the port that stays.
func (s *scene) judgePort(t *testing.T, balancer string, report load.Report, begin time.Time, leave []string) {
	t.Helper()
	moments := s.recorder.since(balancer, begin)
	name := moments[0].serves.Name
	for _, gap := range gaps(moments, stays) {
		t.Errorf("%s: %s", name, gap)
	}
	left, now := removals(moments, stays, s.names), report.Since(begin)
	for _, d := range unexpected(left, leave) {
		t.Errorf("%s: %s stopped to be a target at %s", name, d.target, d.when.to.Format(clock))
	}
	if failed := unexplained(now.Failures(), left); len(failed) > 0 {
		t.Errorf("%s: %d connections failed, the first of them %v; in all %s", name, len(failed), failed[0], now)
	}
	if broke := lost(now.Streams, left); len(broke) > 0 {
		t.Errorf("%s: %d streams broke whose targets stayed, the first of them %v", name, len(broke), broke[0])
	}
}

// end stops the load and judges all of it, also on what ended between two steps. A machine that was too busy
// for the pace has to make up for it before.
func (s *scene) end(t *testing.T) {
	t.Helper()
	eventually(t, "the pace is what it should be", func(context.Context) error {
		if got := s.main.Report().Pace(); got < pace {
			return fmt.Errorf("%.1f new connections a second, want at least %d", got, pace)
		}
		return nil
	})
	for _, l := range []*load.Load{s.main, s.beside, s.lateStreams} {
		if l != nil {
			l.Stop()
		}
	}
	s.judge(t, s.began, s.left...)
	t.Logf("in all: %s", s.main.Report())
	s.endServices(t)
}
