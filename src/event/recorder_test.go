package event

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

const (
	reason = "NodeNotRemoved"
	link   = " See https://github.com/thalassa-cloud/thalassa-ccm/blob/main/docs/events/NodeNotRemoved.md"
)

// recorded are the events in the API server after a recorder was used for a Node.
func recorded(t *testing.T, use func(record.EventRecorder, *corev1.Node)) []corev1.Event {
	t.Helper()
	var events []corev1.Event
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		defer cancel()
		client := fake.NewClientset()
		use(NewRecorder(ctx, client, "example-controller"),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}})
		synctest.Wait()
		found, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{})
		if err != nil || len(found.Items) == 0 {
			t.Fatalf("events %v, error %v", found, err)
		}
		events = found.Items
	})
	return events
}

// TestFullStop: a text without a full stop does not run into the link.
func TestFullStop(t *testing.T) {
	for text, want := range map[string]string{
		"Error syncing load balancer: quota exceeded": "Error syncing load balancer: quota exceeded." + link,
		"It is missing.":    "It is missing." + link,
		"Did you mean “a”?": "Did you mean “a”?" + link,
		"":                  link,
	} {
		if got := (linking{}).linked(corev1.EventTypeWarning, reason, text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestLink: the text of a Warning ends with the link to a page that exists.
func TestLink(t *testing.T) {
	for name, use := range map[string]func(record.EventRecorder, *corev1.Node){
		"Event": func(r record.EventRecorder, node *corev1.Node) {
			r.Event(node, corev1.EventTypeWarning, reason, "50% of “it” is missing.")
		},
		"Eventf": func(r record.EventRecorder, node *corev1.Node) {
			r.Eventf(node, corev1.EventTypeWarning, reason, "%d%% of “it” is missing.", 50)
		},
		"AnnotatedEventf": func(r record.EventRecorder, node *corev1.Node) {
			r.AnnotatedEventf(node, nil, corev1.EventTypeWarning, reason, "%d%% of “it” is missing.", 50)
		},
	} {
		t.Run(name, func(t *testing.T) {
			events := recorded(t, use)
			got := events[0]
			if len(events) != 1 || got.Message != "50% of “it” is missing."+link || got.Reason != reason ||
				got.Source.Component != "example-controller" || got.InvolvedObject.Name != "worker-1" ||
				got.Type != corev1.EventTypeWarning {
				t.Errorf("the events are %+v", events)
			}
		})
	}
	_, path, _ := strings.Cut(link, "/blob/main/")
	if _, err := os.Stat(checkout.Path(t, path)); err != nil {
		t.Errorf("the link leads to no page: %v", err)
	}
}

// TestRelease: the link leads to the pages of the release.
func TestRelease(t *testing.T) {
	fake := record.NewFakeRecorder(1)
	release := build.Info{Version: "v1.2.3"}
	linking{fake, release}.Event(&corev1.Node{}, corev1.EventTypeWarning, reason, "It is missing.")
	want := "Warning NodeNotRemoved It is missing. See " +
		"https://github.com/thalassa-cloud/thalassa-ccm/blob/v1.2.3/docs/events/NodeNotRemoved.md"
	if got := <-fake.Events; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoLink: an event without a page does not change.
func TestNoLink(t *testing.T) {
	for kind, reason := range map[string]string{corev1.EventTypeNormal: reason, corev1.EventTypeWarning: "Broken"} {
		events := recorded(t, func(r record.EventRecorder, node *corev1.Node) {
			r.Event(node, kind, reason, strings.Repeat("long ", 300))
		})
		if events[0].Message != strings.Repeat("long ", 300) {
			t.Errorf("%s %s: the message is %q", kind, reason, events[0].Message)
		}
	}
}

// TestLongMessage: a long message is shortened, but not its link.
func TestLongMessage(t *testing.T) {
	wide := strings.Repeat("…", 1000)
	for _, text := range []string{strings.Repeat("a", 2000), wide, "a" + wide, "aa" + wide} {
		got := recorded(t, func(r record.EventRecorder, node *corev1.Node) {
			r.Event(node, corev1.EventTypeWarning, reason, text)
		})[0].Message
		if len(got) > maxMessage || len(got) < maxMessage-3 || !utf8.ValidString(got) ||
			!strings.HasSuffix(got, "…"+link) {
			t.Errorf("the message has %d bytes: %q", len(got), got)
		}
	}
	fits := strings.Repeat("a", maxMessage-len(link)-1) + "."
	if got := (linking{}).linked(corev1.EventTypeWarning, reason, fits); got != fits+link {
		t.Errorf("a message that fits became %q", got)
	}
}

// TestSameEvents: an event that is repeated is counted.
func TestSameEvents(t *testing.T) {
	events := recorded(t, func(r record.EventRecorder, node *corev1.Node) {
		for range 3 {
			r.Event(node, corev1.EventTypeWarning, reason, "It is missing.")
			synctest.Wait()
		}
	})
	if len(events) != 1 || events[0].Count != 3 {
		t.Errorf("the events are %+v", events)
	}
}

// TestSimilarEvents: many similar events become one, which has the link and is not too long.
func TestSimilarEvents(t *testing.T) {
	const separate = 9 // those that the library combines come after them
	events := recorded(t, func(r record.EventRecorder, node *corev1.Node) {
		for i := range separate + 3 {
			r.Event(node, corev1.EventTypeWarning, reason, fmt.Sprint(i, strings.Repeat(" long", 300)))
			<-time.After(time.Millisecond) // the name of an event contains its time
		}
	})
	combined := 0
	for _, event := range events {
		if len(event.Message) > 1024 || !strings.HasSuffix(event.Message, "…"+link) {
			t.Errorf("the message has %d bytes: %q", len(event.Message), event.Message)
		}
		if strings.HasPrefix(event.Message, "(combined from similar events): ") {
			combined++
		}
	}
	if len(events) != separate+1 || combined != 1 {
		t.Errorf("%d events, %d combined", len(events), combined)
	}
}
