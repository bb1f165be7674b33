package faulttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

const (
	groups    = "/v1/loadbalancer-target-groups"
	balancers = "/v1/loadbalancers"
)

// shop is a small system under test: it needs one target group and one load balancer, which it recognises by a
// label. It is right as long as it has no bug.
type shop struct {
	network  http.RoundTripper
	owner    string // what its label says; "" for shop
	client   string // whose credentials it has; "" for a personal access token
	bug      bug
	poisoned bool
}

// bug is a mistake of the kind that this package is there to find.
type bug string

const (
	none          bug = ""
	labelsLate    bug = "it labels what it made in a second call"
	repeatsBlind  bug = "it repeats a failed creation without looking"
	adoptsByName  bug = "it takes what has its name"
	deletesByName bug = "it removes what has its name"
	loopsForever  bug = "it never recovers from being forbidden"
	waitsForever  bug = "it waits for ever after an error"
	writesAlways  bug = "it writes what is there already"
	believesPages bug = "it takes any 404 for an answer"
	writesNothing bug = "it takes nothing for the desired state"
	givesUp       bug = "it gives up after an error"
	hammers       bug = "it writes seven times to be sure"
	makesAnew     bug = "it replaces what it is in doubt about"
	walksOut      bug = "it ends while a creation is under way"
)

type thing struct {
	Identity, Name string
	Labels         map[string]string
}

// scenario is the work of making both objects, or of finding both there.
func scenario(b bug, ready bool) Scenario {
	return Scenario{
		Name: "shop", Cloud: emulator.Config{Seed: emulator.DefaultSeed()},
		Middleware: openapitest.Sampled, Foreign: otherOwner,
		Begin: func(t *testing.T, cloud *emulator.Emulator) Start {
			t.Helper()
			if ready {
				if err := (&shop{network: cloud.Transport()}).work(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return func(network http.RoundTripper) Work { return (&shop{network: network, bug: b}).work }
		},
		Check: func(t *testing.T, cloud *emulator.Emulator) {
			t.Helper()
			ours, err := (&shop{network: cloud.Transport()}).ours(t.Context(), balancers)
			if err != nil || len(ours) != 1 {
				t.Errorf("%d load balancers, want 1; error %v", len(ours), err)
			}
		},
	}
}

// otherOwner makes objects of another owner with the same names.
func otherOwner(t *testing.T, cloud *emulator.Emulator) {
	t.Helper()
	other := shop{network: cloud.Transport()}
	for _, path := range []string{groups, balancers} {
		if err := other.create(t.Context(), path, "rival"); err != nil {
			t.Fatal(err)
		}
	}
}

// work repeats attempts until one succeeds.
func (s *shop) work(ctx context.Context) error {
	for {
		err := s.attempt(ctx)
		if err == nil || s.bug == givesUp {
			return nil
		}
		pause := 5 * time.Second
		if s.bug == waitsForever {
			pause = 1000 * time.Hour
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

func (s *shop) attempt(ctx context.Context) error {
	for _, path := range []string{groups, balancers} {
		if err := s.one(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// one makes it one object: creates the first and removes all but the oldest.
func (s *shop) one(ctx context.Context, path string) error {
	ours, err := s.ours(ctx, path)
	if err != nil {
		return err
	}
	if s.bug == writesNothing {
		return nil
	}
	if len(ours) == 0 {
		if err := s.create(ctx, path, s.label()); err != nil {
			return s.afterFailure(ctx, path, err)
		}
		return nil
	}
	for _, surplus := range ours[1:] {
		if err := s.call(ctx, http.MethodDelete, path+"/"+surplus.Identity, nil, nil); err != nil {
			return err
		}
	}
	if s.bug == writesAlways {
		return s.mark(ctx, path, ours[0])
	}
	return nil
}

// afterFailure is where most bugs live.
func (s *shop) afterFailure(ctx context.Context, path string, err error) error {
	switch s.bug {
	case repeatsBlind:
		return s.create(ctx, path, s.label())
	case adoptsByName, deletesByName:
		return s.meddle(ctx, path)
	case hammers:
		ours, failed := s.ours(ctx, path)
		for range 7 * len(ours) {
			failed = errors.Join(failed, s.mark(ctx, path, ours[0]))
		}
		return failed
	default:
		return err
	}
}

// meddle does something to all objects called shop, whoever owns them.
func (s *shop) meddle(ctx context.Context, path string) error {
	all, err := s.list(ctx, path)
	if err != nil {
		return err
	}
	for _, found := range all {
		if s.bug == adoptsByName {
			err = errors.Join(err, s.mark(ctx, path, found))
		} else {
			err = errors.Join(err, s.call(ctx, http.MethodDelete, path+"/"+found.Identity, nil, nil))
		}
	}
	return err
}

func (s *shop) label() string { return cmp.Or(s.owner, "shop") }

func (s *shop) mark(ctx context.Context, path string, t thing) error {
	body := map[string]any{"name": t.Name, "labels": map[string]string{"owner": s.label()}, "targetPort": 80,
		"protocol": "tcp"}
	return s.call(ctx, http.MethodPut, path+"/"+t.Identity, body, nil)
}

func (s *shop) create(ctx context.Context, path, owner string) error {
	body := map[string]any{
		"name": "shop", "labels": map[string]string{"owner": owner}, "vpc": emulator.DefaultVPC,
		"subnet":     emulator.DefaultSubnet,
		"targetPort": 80, "protocol": "tcp",
	}
	if s.bug == labelsLate {
		delete(body, "labels")
	}
	var made thing
	if err := s.post(ctx, path, body, &made); err != nil || s.bug != labelsLate {
		return err
	}
	return s.mark(ctx, path, made)
}

// post makes a creation, which ctx does not cut off.
func (s *shop) post(ctx context.Context, path string, body map[string]any, made *thing) error {
	done := make(chan error, 1)
	go func() { done <- s.call(context.WithoutCancel(ctx), http.MethodPost, path, body, made) }()
	if s.bug != walksOut {
		return <-done
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ours is what carries our label, oldest first.
func (s *shop) ours(ctx context.Context, path string) ([]thing, error) {
	all, err := s.list(ctx, path)
	if s.bug == makesAnew && err != nil {
		all, _ = s.list(ctx, path)
		for _, found := range all {
			if found.Labels["owner"] == s.label() {
				err = s.call(ctx, http.MethodDelete, path+"/"+found.Identity, nil, nil)
			}
		}
		return nil, err
	}
	var ours []thing
	for _, found := range all {
		if found.Labels["owner"] == s.label() {
			ours = append(ours, found)
		}
	}
	return ours, err
}

func (s *shop) list(ctx context.Context, path string) ([]thing, error) {
	var all []thing
	return all, s.call(ctx, http.MethodGet, path, nil, &all)
}

// call makes one request with a deadline and reads the answer.
func (s *shop) call(ctx context.Context, method, path string, in, out any) error {
	if s.poisoned {
		path += "/nowhere"
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var content bytes.Buffer
	if err := json.NewEncoder(&content).Encode(in); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://cloud.test"+path, &content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	if s.client != "" {
		request.SetBasicAuth(s.client, emulator.DefaultClientSecret)
	}
	response, err := s.network.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return s.read(response, out)
}

func (s *shop) read(response *http.Response, out any) error {
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound && s.bug == believesPages:
		return nil
	case response.StatusCode >= http.StatusBadRequest:
		s.poisoned = s.poisoned || s.bug == loopsForever && response.StatusCode == http.StatusForbidden
		return fmt.Errorf("%s: %s", response.Status, body)
	case out == nil:
		return nil
	}
	return json.Unmarshal(body, out)
}
