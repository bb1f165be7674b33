package thalassa

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

func tokenSecrets(token string) secret.Secrets {
	return secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: token}}
}

func TestReloadShowsNoSecret(t *testing.T) {
	events := record.NewFakeRecorder(1)
	r := newReloader(tokenSecrets("old"), func() (secret.Secrets, error) { return tokenSecrets("s3cret"), nil },
		func(context.Context, secret.Secrets) error {
			return &client.Error{Method: "GET", Path: "/v1/vpcs/x", Kind: client.ErrUnauthorised, Status: 401}
		}, reload.OwnPod(strings.ToLower))
	r.RecordTo(events)
	r.Poll(t.Context())
	if event := <-events.Events; strings.Contains(event, "s3cret") ||
		!strings.Contains(event, "not permitted (HTTP 401)") {
		t.Errorf("event = %q", event)
	}
	if said := fmt.Sprintf("%v %+v", r.Current, tokenSecrets("s3cret")); strings.Contains(said, "s3cret") {
		t.Errorf("printed as %s", said)
	}
}

// TestUntriedSecrets: an outage does not mean that the cloud refuses the secrets.
func TestUntriedSecrets(t *testing.T) {
	for kind, want := range map[error]bool{client.ErrUnavailable: true, client.ErrThrottled: true,
		client.ErrMalformed: true, client.ErrUnauthorised: false} {
		if got := untried(&client.Error{Kind: kind}); got != want {
			t.Errorf("%v: untried = %t, want %t", kind, got, want)
		}
	}
}

// TestCloudReloads: the whole way, from a new token in the cloud's hands to calls that use it, without a call that
// fails.
func TestCloudReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		good := secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}}
		r := newReloader(tokenSecrets("something older"), func() (secret.Secrets, error) { return good, nil },
			l.cloud.adopt, nil)
		r.Poll(t.Context())
		if diff := cmp.Diff(good, r.Current); diff != "" {
			t.Errorf("in use: %s", diff)
		}
		l.emulator.ResetCounters()
		if err := l.cloud.inventory.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if tokens := l.emulator.Counters()["POST /oidc/token"]; tokens != 0 {
			t.Errorf("the call fetched a token: it uses the old secrets")
		}
	})
}
