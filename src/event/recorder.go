package event

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
)

// maxMessage is the number of bytes of a message with a link: events.k8s.io permits 1024, and the library puts the
// prefix before the message of an event that stands for several similar ones.
const maxMessage = 1024 - len("(combined from similar events): ")

// NewRecorder returns a recorder of events in the API server, and in the log, until ctx ends. Component is the source
// of the events. The text of a Warning is made of sentences, and ends with a link to the page that describes the event,
// if its reason has a page in docs/events.
func NewRecorder(ctx context.Context, client kubernetes.Interface, component string) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartStructuredLogging(0)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return linking{broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		build.Current()}
}

// linking appends links to the messages of Warnings. A link depends only on the reason and the version, so it does not
// change which events are similar or the same.
type linking struct {
	record.EventRecorder

	version build.Info // of the pages
}

// Event implements record.EventRecorder.
func (l linking) Event(object runtime.Object, kind, reason, message string) {
	l.EventRecorder.Event(object, kind, reason, l.linked(kind, reason, message))
}

// Eventf implements record.EventRecorder.
func (l linking) Eventf(object runtime.Object, kind, reason, format string, values ...any) {
	l.Event(object, kind, reason, fmt.Sprintf(format, values...))
}

// AnnotatedEventf implements record.EventRecorder.
func (l linking) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string,
	values ...any) {
	l.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s",
		l.linked(kind, reason, fmt.Sprintf(format, values...)))
}

// linked returns the message with the link to the page of the reason, if there is one.
func (l linking) linked(kind, reason, message string) string {
	page := pageIn(l.version, reason)
	if kind != corev1.EventTypeWarning || page == "" {
		return message
	}
	link := " See " + page
	return Shortened(Sentences(message), maxMessage-len(link)) + link
}

// Page returns the address of the page about a reason of Warnings, in the version of this program; "" if it has none.
func Page(reason string) string { return pageIn(build.Current(), reason) }

func pageIn(version build.Info, reason string) string {
	if !slices.Contains(Documented(), reason) {
		return ""
	}
	return version.Document("docs/events/" + reason + ".md")
}

// Shortened returns the beginning of a text, at most size bytes of whole characters. It ends with " …" if the text is
// longer.
func Shortened(text string, size int) string {
	const more = " …"
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size-len(more)], "") + more
}
