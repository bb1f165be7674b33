package manager

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/component-base/configz"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager/lease"
	"github.com/thalassa-cloud/thalassa-ccm/src/readyz"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing/export"
)

// watchdogTolerance is how long the leader may hold an expired lease before /livez fails and the kubelet restarts it.
// It is the library's value. The leader should have ended before.
const watchdogTolerance = 20 * time.Second

// process is a cloud controller manager, ready to run once.
type process struct {
	config      *ccmconfig.CompletedConfig
	settings    configuration
	cloud       *cloud.Cloud
	build       build.Info
	spans       export.Options
	caches      *caches
	controllers map[string]controller
	skipped     map[string]string // why controllers do not run, by their names
	health      endpoints
	watchdog    *leaderelection.HealthzAdaptor
	metrics     *controllers.ControllerManagerMetrics
}

// newProcess creates the process. It fails if an enabled controller could not start later.
func newProcess(c *ccmconfig.CompletedConfig, masks masks, offered *cloud.Cloud, info build.Info,
	spans export.Options) (*process, error) {
	settings := configuration{&c.ComponentConfig, masks}
	chosen, skipped, err := choose(table(), offered, settings)
	if err != nil {
		return nil, err
	}
	caches, err := newCaches(c.Kubeconfig, c.ComponentConfig.Generic.MinResyncPeriod.Duration)
	if err != nil {
		return nil, err
	}
	p := &process{
		config:      c,
		settings:    settings,
		cloud:       offered,
		build:       info,
		spans:       spans,
		caches:      caches,
		controllers: chosen,
		skipped:     skipped,
		watchdog:    leaderelection.NewLeaderHealthzAdaptor(watchdogTolerance),
		metrics:     controllers.NewControllerManagerMetrics(componentName),
	}
	p.health = endpoints{
		live:    readyz.New("livez", p.watchdog),
		healthy: readyz.New("healthz", p.watchdog),
		ready:   readyz.New("readyz", healthz.NamedCheck("informer-sync", p.caches.synced), p.cloudCheck()),
	}
	return p, p.warm()
}

func (p *process) cloudCheck() healthz.HealthChecker {
	return healthz.NamedCheck("cloud", func(*http.Request) error {
		if p.cloud.Ready == nil {
			return nil
		}
		return p.cloud.Ready()
	})
}

// warm creates all informers that controllers and cloud will need.
func (p *process) warm() error {
	for _, row := range p.controllers {
		for _, watch := range row.watches {
			if err := p.caches.warm(watch(p.caches)); err != nil {
				return fmt.Errorf("setting up caches: %w", err)
			}
		}
	}
	if p.cloud.SetInformers != nil {
		p.cloud.SetInformers(p.caches)
	}
	return nil
}

// run runs the process. When ctx ends, it stops in order and returns nil. It returns earlier only if the lease is lost
// or a controller cannot continue.
func (p *process) run(ctx context.Context) error {
	if err := publishSettings(&p.config.ComponentConfig); err != nil {
		return err
	}
	defer configz.Delete(configzName)
	ctx, stopTracing, err := p.trace(ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	controllers.Register()
	unregister, err := register(legacyregistry.Registerer(), collectors(p.cloud, p.build))
	if err != nil {
		return err
	}
	defer unregister()
	for name, reason := range p.skipped {
		klog.FromContext(ctx).Info("Controller does not run", "controller", name, "reason", reason)
	}

	// The servers end after the work.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer p.caches.Shutdown()
	defer stopServing()
	p.caches.StartWithContext(serving)

	waitForServers, err := serve(p.config, p.health, p.spans.Enabled(), serving.Done())
	if err != nil {
		return err
	}
	defer func() { stopServing(); waitForServers() }()

	p.config.EventBroadcaster.StartStructuredLogging(0)
	p.config.EventBroadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: p.config.Client.CoreV1().
		Events("")})
	defer p.config.EventBroadcaster.Shutdown()

	return p.elect(ctx)
}

// elect runs the work while this process is the leader.
func (p *process) elect(ctx context.Context) error {
	election := p.config.ComponentConfig.Generic.LeaderElection
	if !election.LeaderElect {
		return p.work(ctx)
	}
	lock, err := p.lock()
	if err != nil {
		return err
	}
	return lease.Hold(ctx, lease.Config{
		Lock:          lock,
		Name:          election.ResourceName,
		Duration:      election.LeaseDuration.Duration,
		RenewDeadline: election.RenewDeadline.Duration,
		RetryPeriod:   election.RetryPeriod.Duration,
		Watchdog:      p.watchdog,
	}, p.work)
}

// lock returns the lease of the leader, with a unique identity.
func (p *process) lock() (resourcelock.Interface, error) {
	election := p.config.ComponentConfig.Generic.LeaderElection
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the host name for leader election: %w", err)
	}
	// Half of the deadline, so that one request without an answer does not lose the lease.
	config := rest.CopyConfig(p.config.Kubeconfig)
	config.Timeout = max(time.Second, election.RenewDeadline.Duration/2)
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "leader-election"))
	if err != nil {
		return nil, fmt.Errorf("setting up leader election: %w", err)
	}
	return resourcelock.New(election.ResourceLock, election.ResourceNamespace, election.ResourceName,
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{
			Identity:      host + "_" + uuid.NewString(),
			EventRecorder: p.config.EventRecorder,
		})
}
