package manager

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// collectors are the process's own metrics, and the cloud's if it has any.
func (p *process) collectors() []prometheus.Collector {
	own := []prometheus.Collector{p.build.Collector(strings.ReplaceAll(componentName, "-", "_"))}
	if measurer, ok := p.cloud.(Measurer); ok {
		return append(own, measurer.Collectors()...)
	}
	return own
}

// measure shows metrics until done is called.
func measure(registry prometheus.Registerer, collectors []prometheus.Collector) (done func(), err error) {
	var registered []prometheus.Collector
	done = func() {
		for _, collector := range registered {
			registry.Unregister(collector)
		}
	}
	for _, collector := range collectors {
		if failed := registry.Register(collector); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		registered = append(registered, collector)
	}
	if err != nil {
		done()
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return done, nil
}
