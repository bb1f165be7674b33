package volume

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// source is an object that a volume is made from.
type source struct {
	secret bool
	name   string
}

// watch tells, through changed, when an object that the volumes are made from may have changed.
// Each is watched alone and by name: that is all a node may do.
func (s *Set) watch(ctx context.Context) (changed <-chan struct{}, stop func()) {
	signal := make(chan struct{}, 1)
	poke := func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
	var stops []func()
	for src := range s.sources() {
		factory := s.follow(src, poke)
		factory.Start(ctx.Done())
		stops = append(stops, factory.Shutdown)
		factory.WaitForCacheSync(ctx.Done())
	}
	poke() // for what happened before the watch
	return signal, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

func (s *Set) follow(src source, poke func()) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactoryWithOptions(s.options.Client, 0,
		informers.WithNamespace(s.namespace()),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", src.name).String()
		}))
	var informer cache.SharedIndexInformer
	if src.secret {
		informer = factory.Core().V1().Secrets().Informer()
	} else {
		informer = factory.Core().V1().ConfigMaps().Informer()
	}
	// Adding a handler fails only once the informer has stopped, and it has not started.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { poke() },
		UpdateFunc: func(any, any) { poke() },
		DeleteFunc: func(any) { poke() },
	})
	return factory
}

func (s *Set) sources() map[source]bool {
	found := map[source]bool{}
	for _, v := range s.volumes {
		if v.ConfigMap != nil {
			found[source{false, v.ConfigMap.Name}] = true
		}
		if v.Secret != nil {
			found[source{true, v.Secret.SecretName}] = true
		}
		if v.Projected != nil {
			addProjected(found, v.Projected.Sources)
		}
	}
	return found
}

func addProjected(found map[source]bool, projections []corev1.VolumeProjection) {
	for _, p := range projections {
		if p.ConfigMap != nil {
			found[source{false, p.ConfigMap.Name}] = true
		}
		if p.Secret != nil {
			found[source{true, p.Secret.Name}] = true
		}
	}
}
