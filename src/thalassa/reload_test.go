package thalassa

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// vault is files with secrets, and a cloud that likes some of them.
type vault struct {
	*reloader
	token  string
	broken error // why the files cannot be read
	good   map[string]bool
	away   bool
	tried  []string
	events *record.FakeRecorder
}

func tokenSecrets(token string) secret.Secrets {
	return secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: token}}
}

// newVault has the token "old" in use. It looks at its files until the test ends.
func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{token: "old", good: map[string]bool{"old": true}, events: record.NewFakeRecorder(100)}
	read := func() (secret.Secrets, error) { return tokenSecrets(v.token), v.broken }
	adopt := func(_ context.Context, secrets secret.Secrets) error {
		token := secrets.Credentials.PersonalAccessToken
		v.tried = append(v.tried, token)
		switch {
		case v.away:
			return &client.Error{Method: "GET", Path: "/v1/vpcs/x", Kind: client.ErrUnavailable}
		case !v.good[token]:
			return &client.Error{Method: "GET", Path: "/v1/vpcs/x", Kind: client.ErrUnauthorised, Status: 401}
		}
		return nil
	}
	v.reloader = newReloader(tokenSecrets("old"), read, adopt)
	v.about = ownPod(func(name string) string { return strings.ToLower(name) })
	v.recordTo(v.events)
	return v
}

// pass lets the reloader look for a while.
func (v *vault) pass(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	v.run(ctx)
}

// heard are the events since the last time, without their explanations.
func (v *vault) heard() []string {
	var heard []string
	for {
		select {
		case event := <-v.events.Events:
			heard = append(heard, strings.Join(strings.Fields(event)[:2], " "))
		default:
			return heard
		}
	}
}

func (v *vault) expect(t *testing.T, when, inUse string, failing float64, events ...string) {
	t.Helper()
	if got := v.current.Credentials.PersonalAccessToken; got != inUse {
		t.Errorf("%s: %q is in use, want %q", when, got, inUse)
	}
	if got := testutil.ToFloat64(v.failing); got != failing {
		t.Errorf("%s: the metric says %v, want %v", when, got, failing)
	}
	if diff := cmp.Diff(events, v.heard()); diff != "" {
		t.Errorf("%s: events (-want +got):\n%s", when, diff)
	}
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		v.pass(t, time.Hour)
		v.expect(t, "unchanged", "old", 0)
		if len(v.tried) != 0 {
			t.Errorf("unchanged secrets were tried: %v", v.tried)
		}

		v.token, v.good["new"] = "new", true
		v.pass(t, 2*reloadPeriod)
		v.expect(t, "good new ones", "new", 0, "Normal CloudSecretsReloaded")

		v.token, v.tried = "bad", nil
		v.pass(t, time.Hour)
		v.expect(t, "bad new ones", "new", 1, "Warning CloudSecretsNotReloaded")
		if got := len(v.tried); got < 12 || got > 20 {
			t.Errorf("bad secrets were tried %d times in an hour, want ever rarer, every %s in the end", got,
				maxReloadPause)
		}

		v.good["bad"] = true // a credential that becomes valid later
		v.pass(t, maxReloadPause+reloadPeriod)
		v.expect(t, "they became good", "bad", 0, "Normal CloudSecretsReloaded")

		v.broken = errors.New("half of it is missing")
		v.pass(t, time.Hour)
		v.expect(t, "unreadable ones", "bad", 1, "Warning CloudSecretsNotReloaded")

		v.broken = nil
		v.pass(t, 2*reloadPeriod)
		v.expect(t, "back as they were", "bad", 0)

		v.token, v.away = "newest", true
		v.good["newest"] = true
		v.pass(t, time.Hour)
		v.expect(t, "during an outage", "bad", 1, "Warning CloudSecretsNotReloaded")
		v.away = false
		v.pass(t, maxReloadPause+reloadPeriod)
		v.expect(t, "after the outage", "newest", 0, "Normal CloudSecretsReloaded")

		for result, want := range map[string]float64{"adopted": 3, "refused": 1, "unreadable": 1, "untried": 1} {
			if got := testutil.ToFloat64(v.reloads.WithLabelValues(result)); got != want {
				t.Errorf("%v times %s, want %v", got, result, want)
			}
		}
	})
}

// TestAnotherMistakeIsReportedAgain: whoever mends the file wrongly hears of the next mistake at once.
func TestAnotherMistakeIsReportedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t)
		for _, mistake := range []string{"the file is empty", "no certificate"} {
			v.broken = errors.New(mistake)
			v.pass(t, 5*reloadPeriod)
			v.expect(t, mistake, "old", 1, "Warning CloudSecretsNotReloaded")
		}
		v.broken, v.token = nil, "bad"
		v.pass(t, 2*reloadPeriod)
		v.expect(t, "bad secrets", "old", 1, "Warning CloudSecretsNotReloaded")
	})
}

func TestReloadShowsNoSecret(t *testing.T) {
	v := newVault(t)
	v.token = "s3cret"
	v.poll(t.Context())
	if event := <-v.events.Events; strings.Contains(event, "s3cret") ||
		!strings.Contains(event, "not permitted (HTTP 401)") {
		t.Errorf("event = %q", event)
	}
	if said := fmt.Sprintf("%v %+v", v.current, v.refused); strings.Contains(said, "s3cret") {
		t.Errorf("printed as %s", said)
	}
}

func TestOwnPod(t *testing.T) {
	if pod := ownPod(func(string) string { return "" }); pod != nil {
		t.Errorf("pod = %v outside of one", pod)
	}
	want := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "pod_namespace", Name: "pod_name",
		UID: "pod_uid"}
	if diff := cmp.Diff(want, ownPod(strings.ToLower)); diff != "" {
		t.Error(diff)
	}
}

// TestCloudReloads: the whole way, from a new token in the cloud's hands to calls that use it, without a call that
// fails.
func TestCloudReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		good := secret.Secrets{Credentials: secret.Credentials{PersonalAccessToken: emulator.DefaultToken}}
		r := l.cloud.newReloader(tokenSecrets("something older"), func() (secret.Secrets, error) {
			return good, nil
		}, nil)
		r.poll(t.Context())
		if diff := cmp.Diff(good, r.current); diff != "" {
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

func TestReloadMetricsAreWellFormed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newVault(t).collectors()...)
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}
