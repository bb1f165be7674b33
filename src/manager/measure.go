package manager

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	cloudprovider "k8s.io/cloud-provider"
)

// measure shows the cloud's metrics, if it has any, until done is called.
func measure(registry prometheus.Registerer, cloud cloudprovider.Interface) (done func(), err error) {
	measurer, ok := cloud.(Measurer)
	if !ok {
		return func() {}, nil
	}
	var registered []prometheus.Collector
	done = func() {
		for _, collector := range registered {
			registry.Unregister(collector)
		}
	}
	for _, collector := range measurer.Collectors() {
		if failed := registry.Register(collector); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		registered = append(registered, collector)
	}
	if err != nil {
		done()
		return nil, fmt.Errorf("registering the cloud's metrics: %w", err)
	}
	return done, nil
}
