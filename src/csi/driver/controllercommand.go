package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/controller"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/event"
	"github.com/thalassa-cloud/thalassa-ccm/src/reload"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// The limits of requests to the API server are those that the charts give the sidecars: each new volume reads up to two
// objects.
const (
	clusterQPS   = 100
	clusterBurst = 200
)

func newControllerCommand(e Environment) *cobra.Command {
	var flags common
	var configFile string
	cmd := &cobra.Command{Use: "controller", Short: "Create, attach, resize and delete volumes and snapshots",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.run(cmd.Context(), func(ctx context.Context) error {
				p, err := newControllerProcess(e, flags, configFile)
				if err != nil {
					return err
				}
				return p.run(ctx)
			})
		}}
	flags.add(cmd, ":8080")
	cmd.Flags().StringVar(&configFile, "cloud-config", "", "Path of the cloud-config file, which is that of the cloud "+
		"controller manager. Required.")
	return cmd
}

// controllerProcess serves the sidecars.
type controllerProcess struct {
	flags      common
	cloud      *client.Client
	readiness  client.Readiness
	reloader   *reload.Reloader[secret.Secrets] // nil if the configuration refers to no files
	machines   *inventory.Inventory
	services   *services
	cluster    kubernetes.Interface
	uid        *cloud.ClusterUID
	volumes    *storage.Storage
	controller *controller.Controller
	version    string
	nodes      cache.SharedIndexInformer
}

// newControllerProcess reads the configuration. It sends no request.
func newControllerProcess(e Environment, flags common, configFile string) (*controllerProcess, error) {
	if configFile == "" {
		return nil, errors.New("flag --cloud-config is missing: want the path of the cloud-config file")
	}
	from := cloud.Environment{Variable: e.Getenv}
	config, secrets, err := cloudconfig.Read(configFile, from)
	if err != nil {
		return nil, fmt.Errorf("flag --cloud-config: %w", err)
	}
	config.Warn()
	api, err := client.ForConfig(config, secrets, component+"/"+e.Build.Agent(), e.Network)
	if err != nil {
		return nil, err
	}
	cluster, objects, err := newClusterClients(flags.kubeconfig)
	if err != nil {
		return nil, err
	}
	p := &controllerProcess{flags: flags, cloud: api, cluster: cluster, version: e.Build.Version,
		machines: inventory.New(api, inventory.Scope{VPC: config.VPCIdentity})}
	if config.SecretsMayChange() {
		read := func() (secret.Secrets, error) { return config.ReadSecrets(from) }
		p.reloader = client.NewReloader(secrets, read, p.adopt(config.VPCIdentity, config.Cluster),
			reload.OwnPod(e.Getenv))
	}
	p.uid = cloud.NewClusterUID(config.FormerClusterUIDs)
	p.volumes = storage.New(api, storage.Cluster{Key: config.Cluster, UID: p.uid}, regionOf(p.machines))
	if err := p.offer(e); err != nil {
		return nil, err
	}
	p.nodes = informers.NewSharedInformerFactory(cluster, 0).Core().V1().Nodes().Informer()
	if err := p.nodes.SetTransform(controller.TrimNode); err != nil {
		return nil, fmt.Errorf("preparing the cache of Nodes: %w", err)
	}
	p.controller = controller.New(controller.Options{
		Storage: p.volumes, Region: regionOf(p.machines),
		Nodes: controller.ClusterNodes{Lister: listers.NewNodeLister(p.nodes.GetIndexer()), Inventory: p.machines,
			MachineAge: config.Inventory.MaxMachineAge()},
		Owner: volume.Owner{Driver: flags.name, Cluster: config.Cluster, Extra: config.AdditionalLabels},
		Kubernetes: controller.KubernetesAPI{Leases: cluster.CoordinationV1(), CSINodes: cluster.StorageV1(),
			Metadata: objects, Namespace: e.Getenv("POD_NAMESPACE")},
	})
	return p, nil
}

// offer prepares metrics and health.
func (p *controllerProcess) offer(e Environment) (err error) {
	collect := append(p.cloud.Collectors(), store.AgeCollector(p.machines.Ages(), p.volumes.Ages()))
	if p.reloader != nil {
		collect = append(collect, p.reloader.Collectors()...)
	}
	if p.services, err = newServices(e.Build, collect...); err != nil {
		return err
	}
	p.services.ready.Add(check("cloud", p.ready), check("nodes", func() error {
		if !p.nodes.HasSynced() {
			return errors.New("the Nodes of the cluster have not been read yet")
		}
		return nil
	}))
	return nil
}

// ready returns nil while the cloud answers and accepts the credentials.
func (p *controllerProcess) ready() error { return p.readiness.Check(p.cloud.Err, p.machines.Probe) }

func regionOf(machines *inventory.Inventory) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		vpc, err := machines.VPC(ctx)
		return vpc.Region, err
	}
}

// adopt returns a function that tries secrets and uses them from now on.
func (p *controllerProcess) adopt(vpc, cluster string) func(context.Context, secret.Secrets) error {
	return func(ctx context.Context, secrets secret.Secrets) error {
		return p.cloud.Adopt(ctx, secrets, func(ctx context.Context, candidate *client.Client) error {
			machines := inventory.New(candidate, inventory.Scope{VPC: vpc})
			return storage.New(candidate, storage.Cluster{Key: cluster}, regionOf(machines)).Probe(ctx)
		})
	}
}

// identify reads the UID of the cluster; without the permission, later. It returns false if the context has ended.
func (p *controllerProcess) identify(ctx context.Context) bool {
	cloud.FindClusterUID(ctx, p.cluster, func(uid types.UID) {
		p.uid.Set(uid)
		p.volumes.Forget()
	})
	return ctx.Err() == nil
}

// run serves until the context ends, and then finishes the writes that were sent.
func (p *controllerProcess) run(ctx context.Context) error {
	if p.reloader != nil {
		p.reloader.RecordTo(event.NewRecorder(ctx, p.cluster, component))
		go p.reloader.Run(ctx)
	}
	go p.nodes.RunWithContext(ctx)
	err := together(ctx,
		func(ctx context.Context) error { return p.services.serveHTTP(ctx, p.flags.http) },
		func(ctx context.Context) error {
			// Without the Nodes, volumes would be detached from machines on which no Node seems to run.
			if !cache.WaitForCacheSync(ctx.Done(), p.nodes.HasSynced) || !p.identify(ctx) {
				return nil
			}
			return p.services.serveSocket(ctx, p.flags.endpoint, func(s *grpc.Server) {
				csi.RegisterIdentityServer(s, NewIdentity(p.flags.name, p.version, p.ready))
				csi.RegisterControllerServer(s, p.controller)
			})
		})
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cloud.DrainTimeout())
	defer cancel()
	return errors.Join(err, p.cloud.Drain(drain))
}

// newClusterClients returns the client of the cluster, and that of the metadata of any objects. Without a kubeconfig
// they are those of the pod.
func newClusterClients(kubeconfig string) (kubernetes.Interface, metadata.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the configuration of the cluster: %w; outside of a pod, set --kubeconfig",
			err)
	}
	config.UserAgent, config.QPS, config.Burst = component, clusterQPS, clusterBurst
	cluster, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of the cluster: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of the cluster's metadata: %w", err)
	}
	return cluster, objects, nil
}
