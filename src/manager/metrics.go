package manager

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/cloud-provider/config"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Collectors returns the metrics of a process with this cloud, except those of Kubernetes' libraries: its own, the
// cloud's, and those of each controller that can run. They are for documentation: nothing is started. The error is that
// a controller cannot run with this cloud.
func Collectors(offered *cloud.Cloud, info build.Info) ([]prometheus.Collector, error) {
	settings := configuration{&config.CloudControllerManagerConfiguration{}, defaultMasks()}
	settings.Generic.Controllers = []string{"*"}
	settings.KubeCloudShared.ConfigureCloudRoutes, settings.KubeCloudShared.AllocateNodeCIDRs = true, true
	settings.KubeCloudShared.ClusterCIDR = "10.244.0.0/16"
	chosen, _, err := choose(table(), offered, settings)
	if err != nil {
		return nil, err
	}
	all := collectors(offered, info)
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		all = append(all, chosen[name].describe()...)
	}
	return all, nil
}

// collectors returns the process's own metrics, and the cloud's.
func collectors(offered *cloud.Cloud, info build.Info) []prometheus.Collector {
	own := []prometheus.Collector{info.Collector(strings.ReplaceAll(componentName, "-", "_"))}
	return append(own, offered.Collectors...)
}

// register registers metrics until done is called.
func register(registry prometheus.Registerer, collectors []prometheus.Collector) (done func(), err error) {
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
