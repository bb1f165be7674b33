package reload

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// RecordEvents writes events until ctx ends, as soon as there is a client for the API server, which may not answer at
// this time. Component is the source of the events, and the name of the client.
func (r *Reloader[T]) RecordEvents(ctx context.Context, clients cloud.Clients, component string) {
	broadcaster := record.NewBroadcaster()
	broadcaster.StartStructuredLogging(0)
	r.RecordTo(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}))
	startSink(ctx, clients, broadcaster, component)
	context.AfterFunc(ctx, broadcaster.Shutdown)
}

func startSink(ctx context.Context, clients cloud.Clients, broadcaster record.EventBroadcaster, component string) {
	start := func(client kubernetes.Interface) {
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	}
	client, err := clients.Client(component)
	if err == nil {
		start(client)
		return
	}
	klog.ErrorS(err, "There is no Kubernetes client for the cloud yet: until there is one, its events are only in "+
		"this log", "client", component)
	go func() {
		// The manager's builder waits until it has a client, or the process ends.
		if late := clients.ClientOrDie(component); late != nil && ctx.Err() == nil {
			start(late)
		}
	}()
}
