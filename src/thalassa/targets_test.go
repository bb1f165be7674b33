package thalassa

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
)

// reportedLeftOut are the events about nodes that get no traffic, since the last look.
func (l *lab) reportedLeftOut() (messages []string) {
	for event := l.nextEvent(); event != ""; event = l.nextEvent() {
		if message, found := strings.CutPrefix(event, "Warning "+reasonLeftOut+" "); found {
			messages = append(messages, message)
		}
	}
	return messages
}

// TestNodesLeftOutAreReported with their names and what to do, once for each set of them, and again after all of them
// got traffic.
func TestNodesLeftOutAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, good := service("web", 80), l.nodes("a", "b")
		mute, gone := named("mute", ""), named("gone", providerid.Of("vm-gone"))
		mute.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
		elsewhere, hybrid := named("elsewhere", "aws:///eu-1a/i-1"), named("hybrid", "")
		expect := func(what string, nodes []*corev1.Node, parts ...string) {
			t.Helper()
			for range 3 {
				l.settle(web, nodes)
				<-time.After(2 * time.Minute) // a node that is left out for a moment is nothing to tell
			}
			reported := l.reportedLeftOut()
			if (len(parts) > 0) != (len(reported) == 1) || len(reported) > 1 {
				t.Fatalf("%s: reported %q", what, reported)
			}
			for _, part := range parts {
				if !strings.Contains(reported[0], part) {
					t.Errorf("%s: reported %q, want something about %q", what, reported[0], part)
				}
			}
		}
		const leadsNowhere = "No node remains: a new load balancer has no targets"
		expect("none is usable", []*corev1.Node{gone, mute}, leadsNowhere, "have no provider ID: mute.",
			"spec.providerID must be set to thalassacloud://<machine identity>",
			"VPC "+emulator.DefaultVPC+" does not contain their machines, or the machines are being deleted: gone.",
			"Delete nodes")
		expect("two of four", slices.Concat(good, []*corev1.Node{mute, gone}), "mute", "gone")
		expect("the same ones in another order", slices.Concat([]*corev1.Node{gone, mute}, good))
		expect("one of three", slices.Concat(good, []*corev1.Node{gone}), "gone")
		expect("all are usable", good)
		expect("all are usable, and two are of other clouds", slices.Concat(good, []*corev1.Node{elsewhere, hybrid}))
		expect("that one again", slices.Concat(good, []*corev1.Node{gone}), "gone")
		expect("nobody", nil)
	})
}

// hiding makes the cloud's lists lack a machine and refuses to be asked for it, until it is asked to stop.
func (l *lab) hiding(id string) (asked *atomic.Int64, stop func()) {
	l.Helper()
	good, on := l.network, &atomic.Bool{}
	asked = &atomic.Int64{}
	on.Store(true)
	l.network = roundTrip(func(request *http.Request) (*http.Response, error) {
		if on.Load() && request.URL.Path == "/v1/machines/"+id {
			asked.Add(1)
			return refusal(request, http.StatusForbidden), nil
		}
		answer, err := good.RoundTrip(request)
		if err != nil || !on.Load() || request.Method != http.MethodGet || request.URL.Path != "/v1/machines" {
			return answer, err
		}
		return without(answer, id)
	})
	l.restart()
	return asked, func() { on.Store(false) }
}

// without is a list without one object.
func without(answer *http.Response, id string) (*http.Response, error) {
	defer func() { _ = answer.Body.Close() }()
	var all []map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(one map[string]any) bool { return one["identity"] == id })
	text, err := json.Marshal(all)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	answer.Header.Del("Content-Length")
	return answer, err
}

// TestMachineThatCannotBeAskedFor holds nobody up: it stays where it is and goes nowhere else, and who owns the Service
// is reported.
func TestMachineThatCannotBeAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		web, other, nodes := service("web", 80), service("other", 81), l.nodes("a", "b")
		l.settle(web, nodes)
		id := func(node int) string { return strings.TrimPrefix(nodes[node].Spec.ProviderID, providerid.Of("")) }
		asked, stop := l.hiding(id(1))
		nodes = append(nodes, l.nodes("c")...)
		for range 3 {
			l.settle(web, nodes)
			l.settle(other, nodes)
			<-time.After(time.Second)
		}
		if asked.Load() != 1 {
			t.Errorf("asked for it %d times within seconds, want once", asked.Load())
		}
		all := []string{id(0), id(1), id(2)}
		slices.Sort(all)
		if got := l.machines("a0a1b2c3dweb-p80"); !slices.Equal(got, all) {
			t.Errorf("the Service that had it leads to %v, want %v", got, all)
		}
		if got := l.machines("a0a1b2c3dother-p81"); len(got) != 2 || slices.Contains(got, id(1)) {
			t.Errorf("another Service leads to %v, want the two others", got)
		}
		<-time.After(2 * time.Minute)
		l.settle(web, nodes)
		if reported := strings.Join(l.reportedLeftOut(), "\n"); !strings.Contains(reported,
			"It is not known whether the machines of these nodes exist: b.") || strings.Contains(reported,
			"does not contain their machines") {
			t.Errorf("reported %q", reported)
		}
		stop()
		<-time.After(2 * time.Minute)
		l.settle(web, nodes)
		l.settle(other, nodes)
		if got := l.machines("a0a1b2c3dother-p81"); len(got) != 3 {
			t.Errorf("once it is known, the other Service leads to %v", got)
		}
	})
}

// TestIdentify: a Node without a provider ID may get one of this cloud, and one of another cloud never does.
func TestIdentify(t *testing.T) {
	for id, want := range map[string]struct {
		identity string
		ours     bool
	}{
		"thalassacloud://vm-1": {"vm-1", true}, "": {"", true}, "thalassacloud://no machine": {"", true},
		"aws:///eu-1a/i-1": {"", false}, "thalassa://vm-1": {"", false}, "vm-1": {"", false},
	} {
		if identity, ours := identify(named("a", id)); identity != want.identity || ours != want.ours {
			t.Errorf("%q: identity %q, ours %t; want %q, %t", id, identity, ours, want.identity, want.ours)
		}
	}
}
