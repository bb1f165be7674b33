package faulttest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// beside is the shop's scenario with a second shop, of another owner, that does its work at the same time.
func beside(ours bug, theirs func(*shop) Work) Scenario {
	s := scenario(ours, false)
	s.Foreign = nil
	s.ConcurrentActor = &ConcurrentActor{
		Subject: emulator.DefaultClientID,
		Begin: func(*testing.T, *emulator.Emulator) Start {
			return func(network http.RoundTripper) Work {
				return theirs(&shop{network: network, owner: "other", client: emulator.DefaultClientID})
			}
		},
	}
	return s
}

// minding is a concurrent actor that does its own work only.
func minding(s *shop) Work { return s.work }

// meddling does something to everything that is called shop, until there is more than its own.
func meddling(s *shop) Work {
	return func(ctx context.Context) error {
		if err := s.work(ctx); err != nil {
			return err
		}
		<-time.After(time.Second)
		s.bug = adoptsByName
		return s.meddle(ctx, groups)
	}
}

// endless never finishes.
func endless(*shop) Work {
	return func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

func TestConcurrentActors(t *testing.T) {
	const trial = "hang-04-POST_v1_loadbalancers" // meanwhile the concurrent actor makes its objects
	tests := map[string]struct {
		scenario Scenario
		trial    string // "" is the undisturbed one
		want     string
	}{
		"no other actor": {scenario: beside(none, minding), trial: trial},
		"we meddle": {scenario: beside(adoptsByName, minding), trial: trial,
			want: "writes to what a concurrent actor made:\n\tPUT /v1/loadbalancers/lb-"},
		"the concurrent actor meddles": {scenario: beside(none, meddling),
			want: "writes to what a concurrent actor made:\n\tPUT /v1/loadbalancer-target-groups/tg-"},
		"the concurrent actor is stuck": {scenario: beside(none, endless),
			want: "the concurrent actor: the concurrent actor is not done after 24h0m0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := found(t, test.scenario, faults, func(name string) bool { return name == test.trial })[test.trial]
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestConcurrentActorsSurviveEverything: a good one beside a good one comes through the whole matrix, or through every
// eighth fault in the quick tier.
func TestConcurrentActorsSurviveEverything(t *testing.T) {
	s := beside(none, minding)
	Crash(t, s)
	Chaos(t, s, tier.Pick(3, 10))
	s.Share = tier.Pick(8, 1)
	Faults(t, s)
}

// TestConcurrentActorsAlternate: the calls of both follow each other in the same way in every run, so that a fault test
// can be repeated.
func TestConcurrentActorsAlternate(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	noting := func(who string, start Start) Start {
		return func(network http.RoundTripper) Work {
			return start(transport(func(request *http.Request) (*http.Response, error) {
				response, err := network.RoundTrip(request)
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, who)
				return response, err
			}))
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := beside(none, minding)
		ours, theirs := s.Begin, s.ConcurrentActor.Begin
		s.Begin = func(t *testing.T, cloud *emulator.Emulator) Start {
			t.Helper()
			return noting("we", ours(t, cloud))
		}
		s.ConcurrentActor.Begin = func(t *testing.T, cloud *emulator.Emulator) Start {
			t.Helper()
			return noting("they", theirs(t, cloud))
		}
		s.run(t, disturbance{}, outcome{})
	})
	// the last two: we look once more
	want := []string{"we", "they", "we", "they", "we", "they", "we", "they", "we", "we"}
	if diff := gocmp.Diff(want, calls); diff != "" {
		t.Errorf("who calls (-want +got):\n%s", diff)
	}
}

// transport makes a function an http.RoundTripper.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transport) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestTrespassing(t *testing.T) {
	const before, ours, theirs = "lb-00000000000000000000", "lb-11111111111111111111", "lb-22222222222222222222"
	write := func(subject, path, id string) emulator.Write {
		return emulator.Write{Subject: subject, Path: path, Identity: id}
	}
	good := []emulator.Write{
		write("us", "/v1/loadbalancers", ours), write("them", "/v1/loadbalancers", theirs),
		write("us", "/v1/loadbalancers/"+ours, ours), write("them", "/v1/loadbalancers/"+theirs+"/listeners", "lbl-1"),
		write("us", "/v1/loadbalancers/"+before, before), write("them", "/v1/loadbalancers/"+before, before),
	}
	old := map[string]bool{before: true}
	if found := trespassing(good, old); len(found) > 0 {
		t.Errorf("everybody minds his own: %v", found)
	}
	for name, bad := range map[string]emulator.Write{
		"changes it":           write("us", "/v1/loadbalancers/"+theirs, theirs),
		"tries to":             write("us", "/v1/loadbalancers/"+theirs, ""),
		"adds something to it": write("us", "/v1/loadbalancers/"+theirs+"/listeners", "lbl-2"),
		"changes a part of it": write("us", "/v1/loadbalancers/slug/listeners/lbl-1", "lbl-1"),
		"finds another way":    write("us", "/v1/loadbalancers/slug", theirs),
		"the other way around": write("them", "/v1/loadbalancers/"+ours, ours),
		"with no credentials":  write("", "/v1/loadbalancers/"+ours, ""),
	} {
		t.Run(name, func(t *testing.T) {
			if found := trespassing(append(slices.Clone(good), bad), old); len(found) != 1 {
				t.Errorf("found %v, want the last write", found)
			}
		})
	}
}
