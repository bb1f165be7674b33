package manager

import (
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/server/mux"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/config"
	v1alpha1 "k8s.io/cloud-provider/config/v1alpha1"
	"k8s.io/component-base/configz"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of API requests and leader election
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // kubernetes_build_info
	cmapp "k8s.io/controller-manager/app"

	"github.com/thalassa-cloud/thalassa-ccm/src/readyz"
)

// configzName is the key of our settings in /configz, as in the library.
const configzName = "cloudcontrollermanager.config.k8s.io"

// serverGrace is how long a request may take when the process ends: enough for a scrape, and short in comparison with
// the grace period of a pod.
const serverGrace = 2 * time.Second

// endpoints are the health endpoints of the process.
type endpoints struct {
	live, ready, healthy *readyz.Checks
}

// serve opens the secured port until stop closes. wait returns when all requests have been answered. With
// --secure-port=0 it does nothing.
func serve(c *ccmconfig.CompletedConfig, health endpoints, exemplars bool,
	stop <-chan struct{}) (wait func(), err error) {
	if c.SecureServing == nil {
		return func() {}, nil
	}
	paths := handlers(c, health)
	if exemplars {
		serveExemplars(paths)
	}
	handler := cmapp.BuildHandlerChain(paths, &c.Authorization, &c.Authentication)
	answered, closed, err := c.SecureServing.Serve(handler, serverGrace, stop)
	if err != nil {
		return nil, fmt.Errorf("serving the secured port: %w", err)
	}
	return func() { <-answered; <-closed }, nil
}

// handlers are the library's paths, to which /livez and /readyz are added.
func handlers(c *ccmconfig.CompletedConfig, health endpoints) *mux.PathRecorderMux {
	paths := cmapp.NewBaseHandler(&c.ComponentConfig.Generic.Debugging, health.healthy)
	paths.HandlePrefix("/healthz/", health.healthy)
	health.live.Install(paths)
	health.ready.Install(paths)
	slis.SLIMetricsWithReset{}.Install(paths)
	return paths
}

// publishSettings shows the effective settings in /configz. The caller removes
// them with configz.Delete.
func publishSettings(settings *config.CloudControllerManagerConfiguration) error {
	external := &v1alpha1.CloudControllerManagerConfiguration{}
	err := v1alpha1.Convert_config_CloudControllerManagerConfiguration_To_v1alpha1_CloudControllerManagerConfiguration(
		settings, external, nil)
	if err != nil {
		return fmt.Errorf("converting the settings for /configz: %w", err)
	}
	external.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("CloudControllerManagerConfiguration"))
	entry, err := configz.New(configzName)
	if err != nil {
		return fmt.Errorf("registering /configz: %w", err)
	}
	return entry.Set(external)
}
