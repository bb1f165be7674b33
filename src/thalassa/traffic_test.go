package thalassa

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// byClient asks for session affinity, as the API server completes it, or with another timeout.
func byClient(seconds ...int32) func(*corev1.Service) {
	return func(s *corev1.Service) {
		timeout := append(seconds, corev1.DefaultClientIPServiceAffinitySeconds)[0]
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig =
			&corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
	}
}

// policies are those of the target groups, by target port: "30080 MAGLEV".
func (l *lab) policies() string {
	l.Helper()
	groups, err := l.api().ListTargetGroups(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	var all []string
	for _, group := range groups {
		policy := "none"
		if group.LoadbalancingPolicy != nil {
			policy = string(*group.LoadbalancingPolicy)
		}
		all = append(all, fmt.Sprint(group.TargetPort, " ", policy))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestSessionAffinity: on a load balancer that we created, ports about which the Service names no policy get the one
// that keeps clients.
func TestSessionAffinity(t *testing.T) {
	const conflict = "names a policy for 80/TCP that sends connections of one client to several nodes"
	tests := map[string]struct {
		defaults       map[string]string
		change         []func(*corev1.Service)
		want           string
		reported, part string // reason and a part of the message; "" for nothing
	}{
		"none":   {nil, nil, "30080 ROUND_ROBIN, 30443 ROUND_ROBIN", "", ""},
		"wanted": {nil, []func(*corev1.Service){byClient()}, "30080 MAGLEV, 30443 MAGLEV", "", ""},
		"and named": {nil, []func(*corev1.Service){byClient(), annotated("loadbalancing-policy", "MAGLEV")},
			"30080 MAGLEV, 30443 MAGLEV", "", ""},
		"another policy": {nil, []func(*corev1.Service){byClient(), annotated("loadbalancing-policy.p80",
			"RANDOM")}, "30080 RANDOM, 30443 MAGLEV", reasonConflict, conflict},
		"a default of all": {map[string]string{"loadbalancing-policy": "RANDOM"},
			[]func(*corev1.Service){byClient()}, "30080 MAGLEV, 30443 MAGLEV", "", ""},
		"one not to be read": {nil, []func(*corev1.Service){byClient(), annotated("loadbalancing-policy", "FASTEST")},
			"30080 MAGLEV, 30443 MAGLEV", reasonAnnotation, "FASTEST"},
		"with a timeout": {nil, []func(*corev1.Service){byClient(60)}, "30080 MAGLEV, 30443 MAGLEV",
			reasonUnsupported, "timeoutSeconds is 60"},
		"a timeout, not used": {nil, []func(*corev1.Service){byClient(60), func(s *corev1.Service) {
			s.Spec.SessionAffinity = corev1.ServiceAffinityNone
		}}, "30080 ROUND_ROBIN, 30443 ROUND_ROBIN", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, emulator.Config{})
				l.config.LoadBalancer.Defaults = tt.defaults
				l.restart()
				web := service("web", 80, 443)
				for _, change := range tt.change {
					change(web)
				}
				l.settle(web, l.nodes("a"))
				if got := l.policies(); got != tt.want {
					t.Errorf("policies %q, want %q", got, tt.want)
				}
				event := l.nextEvent()
				if (event == "") != (tt.reported == "") || !strings.Contains(event, tt.reported) ||
					!strings.Contains(event, tt.part) {
					t.Errorf("reported %q, want %q %q", event, tt.reported, tt.part)
				}
				if more := l.nextEvent(); more != "" {
					t.Errorf("reported %q, too", more)
				}
			})
		})
	}
}

// TestSessionAffinityThereAndBack costs one write for each port, and nothing while nothing changes.
func TestSessionAffinityThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes, web := l.nodes("a"), service("web", 80, 443)
		l.settle(web, nodes)
		for _, step := range []struct {
			affinity corev1.ServiceAffinity
			want     string
		}{
			{corev1.ServiceAffinityClientIP, "30080 MAGLEV, 30443 MAGLEV"},
			{corev1.ServiceAffinityNone, "30080 ROUND_ROBIN, 30443 ROUND_ROBIN"},
		} {
			l.emulator.ResetCounters()
			web = web.DeepCopy()
			web.Spec.SessionAffinity = step.affinity
			l.settle(web, nodes)
			l.settle(web, nodes)
			if got, writes := l.policies(), l.writes(); got != step.want || len(writes) != 2 {
				t.Errorf("%s: policies %q by %q, want %q by two writes", step.affinity, got, writes, step.want)
			}
		}
	})
}

// TestSessionAffinityOfATakeover: a load balancer of the existing CCM, or an adopted one, keeps its policy until the
// Service names one, and an event says how.
func TestSessionAffinityOfATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		nodes, web := l.nodes("a"), service("web", 80)
		byClient()(web)
		l.plant(legacyOf(web, nil), nodes)
		l.settle(web, nodes)
		if got := l.policies(); got != "30080 ROUND_ROBIN" || len(l.writes()) > 0 {
			t.Errorf("policies %q, writes %q; want it as it was", got, l.writes())
		}
		if reported := l.nextEvent(); !strings.Contains(reported, reasonUnsupported) ||
			!strings.Contains(reported, "Set annotation "+label.AnnotationPrefix+"loadbalancing-policy to MAGLEV") {
			t.Errorf("reported %q, want what to set", reported)
		}
		web = web.DeepCopy()
		annotated("loadbalancing-policy", "MAGLEV")(web)
		l.settle(web, nodes)
		if got, reported := l.policies(), l.nextEvent(); got != "30080 MAGLEV" || reported != "" {
			t.Errorf("policies %q, reported %q, once it is asked for", got, reported)
		}
	})
}

// TestPathSessionAffinity: connections of a client come to the same machine while the Service asks for session
// affinity, and to all machines in turn before and after that.
func TestPathSessionAffinity(t *testing.T) {
	p := newPath(t, "a", "b", "c")
	web := unchecked("web", 2080)
	p.serve(web)
	address := p.apply(web)
	p.is("before", p.reaches(1, address, 2080), "a b c")
	web = web.DeepCopy()
	byClient()(web)
	p.apply(web)
	var homes []string
	for n := byte(1); n <= 30; n++ {
		home := p.reaches(n, address, 2080)
		if len(home) != 1 {
			t.Errorf("client %d comes to machines %q, want one of them", n, home)
		}
		homes = append(homes, home)
	}
	slices.Sort(homes)
	p.is("the machines that clients come to", strings.Join(slices.Compact(homes), " "), "a b c")
	web = web.DeepCopy()
	web.Spec.SessionAffinity, web.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
	p.apply(web)
	p.is("after", p.reaches(1, address, 2080), "a b c")
}
