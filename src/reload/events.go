package reload

import (
	"context"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
)

// RecordEvents writes events until ctx ends, as soon as there is a client for the API server, which may not answer at
// this time. Component is the source of the events, and the name of the client.
func (r *Reloader[T]) RecordEvents(ctx context.Context, clients cloud.Clients, component string) {
	go func() {
		// The manager's builder waits until it has a client, or the process ends.
		client := clients.ClientOrDie(component)
		if client != nil && ctx.Err() == nil {
			r.RecordTo(event.NewRecorder(ctx, client, component))
		}
	}()
}
