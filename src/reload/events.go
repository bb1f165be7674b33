package reload

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// RecordEvents writes events until ctx ends, as soon as there is a client for the API server, which may not answer at
// this time. Component is the source of the events, and the name of the client.
func (r *Reloader[T]) RecordEvents(ctx context.Context, clients cloud.Clients, component string) {
	go func() {
		// The manager's builder waits until it has a client, or the process ends.
		client := clients.ClientOrDie(component)
		if client != nil && ctx.Err() == nil {
			r.RecordBy(ctx, client, component)
		}
	}()
}

// RecordBy is RecordEvents by a client.
func (r *Reloader[T]) RecordBy(ctx context.Context, client kubernetes.Interface, component string) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartStructuredLogging(0)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	r.RecordTo(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}))
	context.AfterFunc(ctx, broadcaster.Shutdown)
}
