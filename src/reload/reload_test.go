package reload

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
)

// vault is files with secrets, and a cloud that likes some of them.
type vault struct {
	*Reloader[string]
	token  string
	broken error // why the files cannot be read
	good   map[string]bool
	away   bool
	tried  []string
	events *record.FakeRecorder
}

const period = 10 * time.Second

var (
	errUnavailable = errors.New("the cloud does not answer")
	errRefused     = errors.New("not permitted (HTTP 401)")
)

// newVault has the token "old" in use. It looks at its files until the test ends.
func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{token: "old", good: map[string]bool{"old": true}, events: record.NewFakeRecorder(100)}
	read := func() (string, error) { return v.token, v.broken }
	adopt := func(_ context.Context, token string) error {
		v.tried = append(v.tried, token)
		switch {
		case v.away:
			return errUnavailable
		case !v.good[token]:
			return errRefused
		}
		return nil
	}
	v.Reloader = New(Options[string]{
		Cloud: "example", Current: "old", Period: period, Read: read, Adopt: adopt,
		Same:     func(a, b string) bool { return a == b },
		Untried:  func(err error) bool { return errors.Is(err, errUnavailable) },
		Describe: func(string) string { return "a token" },
		About:    OwnPod(strings.ToLower),
	})
	v.RecordTo(v.events)
	return v
}

// pass lets the reloader look for a while.
func (v *vault) pass(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	v.Run(ctx)
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
	if got := v.Current; got != inUse {
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
		v.pass(t, 2*period)
		v.expect(t, "good new ones", "new", 0, "Normal CloudSecretsReloaded")

		v.token, v.tried = "bad", nil
		v.pass(t, time.Hour)
		v.expect(t, "bad new ones", "new", 1, "Warning CloudSecretsNotReloaded")
		if got := len(v.tried); got < 12 || got > 20 {
			t.Errorf("bad secrets were tried %d times in an hour, want ever rarer, every %s in the end", got,
				maxPause)
		}

		v.good["bad"] = true // a credential that becomes valid later
		v.pass(t, maxPause+period)
		v.expect(t, "they became good", "bad", 0, "Normal CloudSecretsReloaded")

		v.broken = errors.New("half of it is missing")
		v.pass(t, time.Hour)
		v.expect(t, "unreadable ones", "bad", 1, "Warning CloudSecretsNotReloaded")

		v.broken = nil
		v.pass(t, 2*period)
		v.expect(t, "back as they were", "bad", 0)

		v.token, v.away = "newest", true
		v.good["newest"] = true
		v.pass(t, time.Hour)
		v.expect(t, "during an outage", "bad", 1, "Warning CloudSecretsNotReloaded")
		v.away = false
		v.pass(t, maxPause+period)
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
			v.pass(t, 5*period)
			v.expect(t, mistake, "old", 1, "Warning CloudSecretsNotReloaded")
		}
		v.broken, v.token = nil, "bad"
		v.pass(t, 2*period)
		v.expect(t, "bad secrets", "old", 1, "Warning CloudSecretsNotReloaded")
	})
}

func TestOwnPod(t *testing.T) {
	if pod := OwnPod(func(string) string { return "" }); pod != nil {
		t.Errorf("pod = %v outside of one", pod)
	}
	want := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "pod_namespace", Name: "pod_name",
		UID: "pod_uid"}
	if diff := cmp.Diff(want, OwnPod(strings.ToLower)); diff != "" {
		t.Error(diff)
	}
}

func TestReloadMetricsAreWellFormed(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newVault(t).Collectors()...)
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// TestFailureBeforeTheElection: the event about a failure that persists is written as soon as there is a recorder.
func TestFailureBeforeTheElection(t *testing.T) {
	v := newVault(t)
	v.recorder, v.token = nil, "bad"
	v.Poll(t.Context())
	v.expect(t, "on a standby", "old", 1)
	v.RecordTo(v.events)
	v.expect(t, "after the election", "old", 1, "Warning CloudSecretsNotReloaded")
	v.RecordTo(v.events)
	v.expect(t, "once", "old", 1)
}
