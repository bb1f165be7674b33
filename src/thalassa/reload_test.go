package thalassa

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// TestCloudReloads: the whole way, from a new token in the cloud's hands to calls that use it, without a call that
// fails.
func TestCloudReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		good := secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}}
		older := secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: "something older"}}
		r := client.NewReloader(older, func() (secret.Secrets, error) { return good, nil },
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
