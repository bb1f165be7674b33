package plugin

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// header returns the beginning of a result.
func (s *settings) header(from *session, kind string) Header {
	h := Header{APIVersion: APIVersion, Kind: kind, PluginVersion: s.Build.Version}
	if from.inspection != nil {
		h.Cloud = from.inspection.Cloud.Name
	}
	if from.workload != nil {
		h.Workload, h.Version = from.workload.String(), from.workload.Version()
	}
	return h
}

// nameOf returns the name in an argument such as service/web or web.
func nameOf(argument string, kinds ...string) string {
	for _, kind := range kinds {
		if name, found := strings.CutPrefix(strings.ToLower(argument), kind+"/"); found {
			return name
		}
	}
	return argument
}

// sync starts the informers of the factory and waits until they are complete. The error contains why an object cannot
// be listed, such as a missing permission.
func sync(ctx context.Context, factory informers.SharedInformerFactory, wait func(context.Context) error,
	of ...cache.SharedIndexInformer) error {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for _, informer := range of {
		err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			stop(fmt.Errorf("reading from Kubernetes: %w", err)) // the first error counts
		})
		if err != nil {
			return fmt.Errorf("preparing to read from Kubernetes: %w", err)
		}
	}
	factory.StartWithContext(ctx)
	return wait(waiting)
}
