package manager

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing/export"
)

// serviceSyncs is the default of --concurrent-service-syncs. With the library's default 1, one slow load balancer
// delays all others.
const serviceSyncs = 10

// Defaults of --kube-api-qps and --kube-api-burst, for each controller. With the library's 20 and 30, 200 Services that
// are created at once wait longer for the API server than for the cloud.
const (
	kubernetesRate  = 50
	kubernetesBurst = 100
)

// Defaults of --leader-elect-lease-duration, --leader-elect-renew-deadline and --leader-elect-retry-period. A standby
// takes over at most 15 s after the leader was killed: it sees the last renewal up to 2.2 periods late, because the
// library adds up to 1.2 periods to each, waits for the duration, and tries again up to 2.2 periods later. With the
// library's 15, 10 and 2 s, these are 23.8 s.
const (
	leaseDuration = 12 * time.Second
	renewDeadline = 8 * time.Second
	retryPeriod   = 600 * time.Millisecond
)

// settings are the values of the flags.
type settings struct {
	*options.CloudControllerManagerOptions
	build     build.Info
	providers []Provider
	logging   *logs.Options
	tracing   tracingFlags
	masks     masks
	// cloudFlags are the flags of each cloud that has any, by its name.
	cloudFlags map[string]*pflag.FlagSet
}

// newSettings returns the defaults. It fails only if the defaults of the libraries contradict each other.
func newSettings(info build.Info, providers []Provider) (*settings, error) {
	if err := registerFeatures(); err != nil {
		return nil, err
	}
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("preparing the default options: %w", err)
	}
	defaults.ServiceController.ConcurrentServiceSyncs = serviceSyncs
	defaults.Generic.ClientConnection.QPS, defaults.Generic.ClientConnection.Burst = kubernetesRate, kubernetesBurst
	// With 0, the cloud's configuration applies. The library's 10 s is for a controller that does not watch.
	defaults.KubeCloudShared.RouteReconciliationPeriod.Duration = 0
	election := &defaults.Generic.LeaderElection
	election.LeaseDuration.Duration, election.RenewDeadline.Duration = leaseDuration, renewDeadline
	election.RetryPeriod.Duration = retryPeriod
	if len(providers) > 0 {
		defaults.KubeCloudShared.CloudProvider.Name = providers[0].Name
	}
	clouds, err := cloudFlags(providers)
	if err != nil {
		return nil, err
	}
	return &settings{
		CloudControllerManagerOptions: defaults,
		cloudFlags:                    clouds,
		build:                         info,
		providers:                     providers,
		logging:                       logs.NewOptions(),
		tracing:                       tracingFlags{perMillion: export.Everything},
		masks:                         defaultMasks(),
	}, nil
}

// cloudFlags returns the flags of each cloud that has any, by its name. The error is that a flag has the name of a flag
// of the libraries or of another cloud.
func cloudFlags(providers []Provider) (map[string]*pflag.FlagSet, error) {
	sets := map[string]*pflag.FlagSet{}
	var problems []error
	for _, provider := range providers {
		if provider.Flags == nil {
			continue
		}
		set := pflag.NewFlagSet(provider.Name, pflag.ContinueOnError)
		provider.Flags(set)
		set.VisitAll(func(flag *pflag.Flag) {
			prefix := provider.Name + "-"
			if !strings.HasPrefix(flag.Name, prefix) && !slices.Contains(provider.OtherFlags, flag.Name) {
				problems = append(problems, fmt.Errorf("registering flag --%s of cloud %s: its name must begin with %q",
					flag.Name, provider.Name, prefix))
			}
		})
		sets[provider.Name] = set
	}
	return sets, errors.Join(problems...)
}

// registerFeatures registers the feature gates of libraries that do not do it themselves, before --feature-gates is
// bound. It has an effect once per process; for a second command they are registered already.
func registerFeatures() error {
	gate := utilfeature.DefaultMutableFeatureGate
	if _, done := gate.GetAll()[logsapi.ContextualLogging]; !done {
		if err := errors.Join(metricsfeatures.AddFeatureGates(gate), logsapi.AddFeatureGates(gate)); err != nil {
			return fmt.Errorf("registering feature gates: %w", err)
		}
	}
	return nil
}

// validate checks all flags and returns the selected provider.
func (s *settings) validate() (Provider, error) {
	provider, err := s.provider(s.KubeCloudShared.CloudProvider.Name)
	if err != nil {
		return Provider{}, err
	}
	if s.KubeCloudShared.CloudProvider.CloudConfigFile == "" {
		return Provider{}, fmt.Errorf("missing --cloud-config: pass the path of the configuration file of %s",
			provider.Name)
	}
	if s.Generic.LeaderMigration.Enabled {
		return Provider{}, errors.New("--enable-leader-migration is not supported: " +
			"this binary has never shared a lease with kube-controller-manager; remove the flag")
	}
	if len(s.Webhook.Webhooks) > 0 {
		return Provider{}, errors.New("--webhooks is not supported: this binary serves no webhooks; remove the flag")
	}
	if err := s.spans().Validate(); err != nil {
		return Provider{}, err
	}
	return provider, s.Validate(controllerNames(), nil, names.CCMControllerAliases(), nil, nil)
}

// provider returns the provider with the name of --cloud-provider.
func (s *settings) provider(name string) (Provider, error) {
	known := make([]string, 0, len(s.providers))
	for _, provider := range s.providers {
		if provider.Name == name {
			return provider, nil
		}
		known = append(known, provider.Name)
	}
	if len(known) == 0 {
		return Provider{}, errors.New("this binary serves no cloud: it was built without providers")
	}
	list := strings.Join(known, ", ")
	if name == "" {
		return Provider{}, fmt.Errorf("missing --cloud-provider: choose one of: %s", list)
	}
	return Provider{}, fmt.Errorf("unknown --cloud-provider=%s: choose one of: %s", name, list)
}

// config creates the library's configuration from the options. Unlike the library, it sends no request to the API
// server: see authenticate.
func (s *settings) config() (*ccmconfig.Config, error) {
	offline := *s.CloudControllerManagerOptions
	offline.Authentication = nil // its ApplyTo reads a ConfigMap and fails if it cannot
	offline.Webhook, offline.WebhookServing = nil, nil
	config, err := offline.Config(controllerNames(), nil, names.CCMControllerAliases(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("preparing the process: %w", err)
	}
	if config.SecureServing == nil {
		return config, nil
	}
	if err := authenticate(s.Authentication, config); err != nil {
		return nil, errors.Join(err, discard(config))
	}
	return config, nil
}

// discard closes what the library opened for a process that will not run.
func discard(config *ccmconfig.Config) error {
	config.EventBroadcaster.Shutdown()
	if config.SecureServing == nil {
		return nil
	}
	return config.SecureServing.Listener.Close()
}

// assemble creates the process that runs the cloud.
func (s *settings) assemble(offered *cloud.Cloud) (*process, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	p, err := newProcess(config.Complete(), s.masks, offered, s.build, s.spans())
	if err != nil {
		return nil, errors.Join(err, discard(config))
	}
	return p, nil
}

// logFlags logs the effective value of every flag at -v=1. No flag holds a
// secret by itself, but a URL may carry one.
func logFlags(logger klog.Logger, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		logger.V(1).Info("Flag", "name", f.Name, "value", withoutPassword(f.Value.String()))
	})
}

func withoutPassword(value string) string {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		return u.Redacted()
	}
	return value
}
