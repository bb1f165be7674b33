package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/config"
	"k8s.io/cloud-provider/names"
	cmapp "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodeipam"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/nodelifecycle"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/route"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/service"
)

// controller is a row of the table of controllers.
type controller struct {
	// account is the service account of the controller with --use-service-account-credentials. The names are the
	// library's, because clusters have roles for them.
	account string
	// metric is the controller's name in the library's metric of running controllers, and source that in its events.
	metric, source string
	// watches are the caches that a standby fills for the controller.
	watches []watch
	// check returns, before the election, whether the controller can run: nil, a skipError, or a mistake in the flags.
	check func(*cloud.Cloud, configuration) error
	// construct creates the controller, on the leader.
	construct func(environment) (loop, error)
	// describe returns the controller's metrics for the documentation.
	describe func() []prometheus.Collector
}

// loop is a controller that is ready to run.
type loop struct {
	// run does the work until the context ends.
	run func(context.Context)
	// collectors are the controller's metrics, registered while it runs.
	collectors []prometheus.Collector
}

// skipError is the reason why a controller does not run with this cloud or these flags.
type skipError string

func (s skipError) Error() string { return string(s) }

// environment contains what controllers are created from.
type environment struct {
	cloud     *cloud.Cloud
	client    kubernetes.Interface
	recorder  record.EventRecorder
	informers informers.SharedInformerFactory
	settings  configuration
}

// configuration is the configuration of the controllers: the library's, and settings that it does not have.
type configuration struct {
	*config.CloudControllerManagerConfiguration
	masks masks
}

// enables reports whether --controllers enables a controller.
func (c configuration) enables(name string) bool {
	return cmapp.IsControllerEnabled(name, sets.NewString(), c.Generic.Controllers)
}

// watch returns an informer.
type watch func(informers.SharedInformerFactory) cache.SharedIndexInformer

func watchNodes(factory informers.SharedInformerFactory) cache.SharedIndexInformer {
	return factory.Core().V1().Nodes().Informer()
}

func watchServices(factory informers.SharedInformerFactory) cache.SharedIndexInformer {
	return factory.Core().V1().Services().Informer()
}

// watchEndpointSlices stores only the necessary fields, because there may be very many objects.
func watchEndpointSlices(factory informers.SharedInformerFactory) cache.SharedIndexInformer {
	informer := factory.Discovery().V1().EndpointSlices().Informer()
	// It fails only for an informer that runs, and informers are started later.
	if err := informer.SetTransform(service.Slim); err != nil {
		klog.ErrorS(err, "EndpointSlices are kept as a whole, which takes more memory")
	}
	return informer
}

// table lists all controllers by their names in --controllers. To replace a controller, replace its row.
func table() map[string]controller {
	return map[string]controller{
		names.CloudNodeController: {
			account: "node-controller", metric: "cloud-node", source: "cloud-node-controller",
			watches: []watch{watchNodes}, check: needsInstances, construct: newNodeController, describe: node.Described,
		},
		names.CloudNodeLifecycleController: {
			account: "node-controller", metric: "cloud-node-lifecycle", source: "cloud-node-lifecycle-controller",
			watches: []watch{watchNodes},
			check:   needsInstances, construct: newNodeLifecycleController, describe: nodelifecycle.Described,
		},
		names.ServiceLBController: {
			account: "service-controller", metric: "service", source: "service-controller",
			watches: []watch{watchNodes, watchServices, watchEndpointSlices},
			check:   needsLoadBalancers, construct: newServiceController, describe: service.Described,
		},
		names.NodeRouteController: {
			account: "route-controller", metric: "route", source: "route_controller", watches: []watch{watchNodes},
			check: needsRoutes, construct: newRouteController, describe: route.Described,
		},
		nodeIPAMController: {
			account: "node-controller", metric: "node-ipam", source: nodeIPAMController, watches: []watch{watchNodes},
			check: needsMasks, construct: newIPAMController, describe: nodeipam.Described,
		},
	}
}

func controllerNames() []string {
	return slices.Sorted(maps.Keys(table()))
}

// choose returns the controllers that --controllers enables and that can run, and the reasons why the others do not
// run.
func choose(all map[string]controller, offered *cloud.Cloud, settings configuration,
) (chosen map[string]controller, skipped map[string]string, err error) {
	chosen, skipped = map[string]controller{}, map[string]string{}
	for name, row := range all {
		reason := skipError("not in --controllers")
		if settings.enables(name) {
			err = row.check(offered, settings)
			if err == nil {
				chosen[name] = row
				continue
			}
			if !errors.As(err, &reason) {
				return nil, nil, fmt.Errorf("checking %s: %w", name, err)
			}
		}
		skipped[name] = string(reason)
	}
	return chosen, skipped, nil
}

func needsInstances(offered *cloud.Cloud, _ configuration) error {
	if offered.Machines == nil {
		return skipError("the cloud has no instances")
	}
	return nil
}

func needsLoadBalancers(offered *cloud.Cloud, _ configuration) error {
	if offered.LoadBalancers == nil {
		return skipError("the cloud has no load balancers")
	}
	return nil
}

// made returns the loop of a controller that was constructed, or the error.
func made(c interface {
	Run(context.Context)
	Collectors() []prometheus.Collector
}, err error) (loop, error) {
	if err != nil {
		return loop{}, err
	}
	return loop{collectors: c.Collectors(), run: c.Run}, nil
}

func newNodeController(env environment) (loop, error) {
	return made(node.New(node.Options{
		Provider: env.cloud.Machines, Behaviour: env.cloud.MachineBehaviour, Changes: env.cloud.Changes,
		Recovered: env.cloud.Recovered,
		Client:    env.client, Recorder: env.recorder, Nodes: env.informers.Core().V1().Nodes(),
		Period:        env.settings.NodeStatusUpdateFrequency.Duration,
		Workers:       int(env.settings.NodeController.ConcurrentNodeSyncs),
		ResyncWorkers: int(env.settings.NodeController.ConcurrentNodeStatusUpdates),
	}))
}

func newNodeLifecycleController(env environment) (loop, error) {
	return made(nodelifecycle.New(nodelifecycle.Options{
		Provider: env.cloud.Machines, Behaviour: env.cloud.MachineBehaviour, Changes: env.cloud.Changes,
		Client: env.client, Recorder: env.recorder, Nodes: env.informers.Core().V1().Nodes(),
		Period:  env.settings.NodeLifecycleController.NodeMonitorPeriod.Duration,
		Workers: int(env.settings.NodeLifecycleController.ConcurrentNodeLifecycleSyncs),
	}))
}

func newServiceController(env environment) (loop, error) {
	core := env.informers.Core().V1()
	c, err := service.New(service.Options{
		Provider: env.cloud.LoadBalancers, Behaviour: env.cloud.LoadBalancerBehaviour,
		Changes: env.cloud.Changes, Recovered: env.cloud.Recovered, Client: env.client, Recorder: env.recorder,
		Identity: env.cloud.ClusterIdentity, Services: core.Services(), Nodes: core.Nodes(),
		EndpointSlices: env.informers.Discovery().V1().EndpointSlices(),
	})
	if err != nil {
		return loop{}, err
	}
	workers := int(env.settings.ServiceController.ConcurrentServiceSyncs)
	return loop{collectors: c.Collectors(), run: func(ctx context.Context) { c.Run(ctx, workers) }}, nil
}
