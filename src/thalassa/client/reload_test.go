package client

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

func TestReloadShowsNoSecret(t *testing.T) {
	events := record.NewFakeRecorder(1)
	r := NewReloader(secretsOf("old"), func() (secret.Secrets, error) { return secretsOf("s3cret"), nil },
		func(context.Context, secret.Secrets) error {
			return &Error{Method: "GET", Path: "/v1/vpcs/x", Kind: ErrUnauthorised, Status: 401}
		}, reload.OwnPod(strings.ToLower))
	r.RecordTo(events)
	r.Poll(t.Context())
	if event := <-events.Events; strings.Contains(event, "s3cret") ||
		!strings.Contains(event, "not permitted (HTTP 401)") {
		t.Errorf("event = %q", event)
	}
	if said := fmt.Sprintf("%v %+v", r.Current, secretsOf("s3cret")); strings.Contains(said, "s3cret") {
		t.Errorf("printed as %s", said)
	}
}

// TestUntriedSecrets: an outage does not mean that the cloud refuses the secrets.
func TestUntriedSecrets(t *testing.T) {
	for kind, want := range map[error]bool{ErrUnavailable: true, ErrThrottled: true,
		ErrMalformed: true, ErrUnauthorised: false} {
		if got := untried(&Error{Kind: kind}); got != want {
			t.Errorf("%v: untried = %t, want %t", kind, got, want)
		}
	}
}
