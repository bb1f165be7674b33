//go:build e2e

package e2etest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/cluster"
)

// rotated proves that the credentials can be changed while the program runs: it goes on with the new ones, and was not
// started anew.
func rotated(t *testing.T, l *lab) {
	t.Helper()
	namespace := l.runServers(t, "worker-1", "worker-2")
	before := l.manager(t)
	const secret = "the-next-secret"
	if err := l.Cloud().SetClientSecret(emulator.DefaultClientID, secret); err != nil {
		t.Fatal(err)
	}
	secrets := l.API().CoreV1().Secrets(cluster.Namespace)
	current, err := secrets.Get(t.Context(), cluster.Credentials, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	current.Data["clientSecret"] = []byte(secret)
	began := time.Now()
	if _, err := secrets.Update(t.Context(), current, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an event on the pod says CloudSecretsReloaded", func(ctx context.Context) error {
		events, err := l.API().CoreV1().Events(cluster.Namespace).List(ctx,
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + before.Name})
		if err != nil {
			return err
		}
		var seen []string
		for _, event := range events.Items {
			seen = append(seen, event.Reason)
		}
		if !slices.Contains(seen, "CloudSecretsReloaded") {
			return fmt.Errorf("its events are %v", seen)
		}
		return nil
	})
	l.report.measured(began, "the Secret was changed, it was in use")

	// From now on, the old secret is worth nothing: neither a new token, nor anything for one of before.
	l.Cloud().ExpireBearers()
	expired := time.Now()
	address := l.expose(t, namespace, portHTTP)
	l.awaitWeb(t, address, "worker-1", "worker-2")
	byManager := 0
	for _, write := range l.Cloud().Writes() {
		if write.Time.After(expired) && write.Subject == emulator.DefaultClientID &&
			write.Status < http.StatusBadRequest {
			byManager++
		}
	}
	after := l.manager(t)
	if byManager == 0 || after.UID != before.UID ||
		after.Status.ContainerStatuses[0].RestartCount != before.Status.ContainerStatuses[0].RestartCount {
		t.Errorf("it wrote %d times with the new secret, want some; pod %s was restarted %d times, want the pod %s "+
			"of before and %d times",
			byManager, after.UID, after.Status.ContainerStatuses[0].RestartCount, before.UID,
			before.Status.ContainerStatuses[0].RestartCount)
	}
}
