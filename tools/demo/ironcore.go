package demo

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
)

const (
	// ironcoreNamespace has all objects of the cluster in IronCore, ironcoreNetwork is its Network there.
	ironcoreNamespace, ironcoreNetwork = "demo", "nodes"
	// ironcoreUser is who the cloud controller manager is in IronCore.
	ironcoreUser = "thalassa-ccm"
	// ironcoreSecret has the kubeconfig of that user.
	ironcoreSecret = "ironcore-kubeconfig"
	// ironcoreFolder is the folder of IronCore's programs in bin/.
	ironcoreFolder = "ironcore"
	// ironcoreClass is the MachineClass of the demo's servers.
	ironcoreClass = "small"
)

// ironcore is IronCore with what plays its machine pool and its network provider, and with real permissions.
type ironcore struct {
	control    *controlplane.ControlPlane
	lab        *ironcorelab.Lab
	plane      *plane
	kubeconfig string // path of the kubeconfig of the cloud controller manager
}

// programs are those of IronCore. What plays the others of its components is part of the demo.
func (*ironcore) programs() []string { return []string{ironcoreFolder} }

func (c *ironcore) start(ctx context.Context, s *stage) (err error) {
	if c.control, err = s.startControlPlane(ctx, "the IronCore API", "ironcore"); err != nil {
		return err
	}
	if err := ironcorelab.Serve(ctx, c.control, s.programs.path(ironcoreFolder)); err != nil {
		return err
	}
	if err := c.startComponents(ctx, s); err != nil {
		return err
	}
	host, port := c.control.Address()
	s.printer.say("IronCore (API server, controller manager, stand-ins for machines and network) answers at "+
		"https://%s:%d", host, port)
	return c.permit(ctx, s)
}

// startComponents starts what plays the machine pool and the network provider, in a namespace with a Network.
func (c *ironcore) startComponents(ctx context.Context, s *stage) (err error) {
	clients, err := kubernetes.NewForConfig(c.control.Config())
	if err != nil {
		return fmt.Errorf("preparing a client of IronCore: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ironcoreNamespace}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s in IronCore: %w", ironcoreNamespace, err)
	}
	if c.plane, err = newPlane(s.network); err != nil {
		return err
	}
	s.later("the load balancers of IronCore", func(context.Context) error { return c.plane.Close() })
	c.lab, err = ironcorelab.Start(context.WithoutCancel(ctx), c.control.Config(), ironcorelab.Options{
		Namespace: ironcoreNamespace, Network: ironcoreNetwork, Provision: createDelay, Deletion: deleteDelay,
		Address: c.plane.address, DataPlane: c.plane,
	})
	if err != nil {
		return fmt.Errorf("starting the components of IronCore: %w", err)
	}
	s.later("the components of IronCore", func(context.Context) error {
		c.lab.Stop()
		return nil
	})
	return c.lab.AddNetwork(ctx)
}

// permit installs the part of the chart with the permissions in IronCore, and writes the kubeconfig of the user that
// gets them.
func (c *ironcore) permit(ctx context.Context, s *stage) error {
	_, err := chart.Install(ctx, c.control.Config(), s.chart(), chart.Release{
		Name: releaseName, Namespace: ironcoreNamespace, Values: map[string]any{
			"cloud": cloudIronCore, "part": "cloud",
			"ironcore": map[string]any{"subject": map[string]any{"kind": "User", "name": ironcoreUser}},
		},
	}, io.Discard)
	if err != nil {
		return err
	}
	s.printer.say("In IronCore: helm install thalassa-ccm charts/thalassa-ccm --set cloud=ironcore,part=cloud; "+
		"this gives user %s its permissions in namespace %s", ironcoreUser, ironcoreNamespace)
	user, err := c.control.User(ironcoreUser)
	if err != nil {
		return fmt.Errorf("making the credentials of user %s in IronCore: %w", ironcoreUser, err)
	}
	c.kubeconfig = s.folder.File(ironcoreSecret)
	return controlplane.WriteKubeconfig(c.kubeconfig, user)
}

func (c *ironcore) installation() (installation, error) {
	content, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		return installation{}, fmt.Errorf("reading the kubeconfig of IronCore: %w", err)
	}
	return installation{
		flags: " --set cloud=ironcore", secret: ironcoreSecret,
		credentials: map[string]string{"kubeconfig": string(content)},
		values: map[string]any{
			"cloud": cloudIronCore,
			"ironcore": map[string]any{
				"networkName": ironcoreNetwork, "clusterName": clusterName, "namespace": ironcoreNamespace,
				"kubeconfig": map[string]any{"existingSecret": ironcoreSecret},
			},
		},
	}, nil
}

// addServer creates a Machine, and waits until it runs.
func (c *ironcore) addServer(ctx context.Context, name, zone string) (netip.Addr, error) {
	address := c.plane.serverAddress()
	err := c.lab.AddMachine(ctx, role.Machine{
		Name: name, Pool: zone, Class: ironcoreClass, Zone: zone, Region: region, Addresses: []netip.Addr{address},
	})
	if err != nil {
		return netip.Addr{}, err
	}
	machines := c.lab.Client().ComputeV1alpha1().Machines(ironcoreNamespace)
	return address, until(ctx, "Machine "+name+" runs", func(ctx context.Context) (bool, error) {
		machine, err := machines.Get(ctx, name, metav1.GetOptions{})
		return err == nil && machine.Status.State == computev1alpha1.MachineStateRunning, err
	})
}

func (c *ironcore) balancer(ctx context.Context, service *corev1.Service) (balancer, error) {
	networking, name := c.lab.Client().NetworkingV1alpha1(), label.LoadBalancerName(service)
	lb, err := networking.LoadBalancers(ironcoreNamespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return balancer{}, errNoBalancer
	}
	if err != nil {
		return balancer{}, fmt.Errorf("reading the load balancer in IronCore: %w", err)
	}
	found := balancer{name: name, state: "without an address"}
	if len(lb.Status.IPs) > 0 {
		found.state = "ready"
	}
	found.served, found.problem = c.plane.served(lb)
	routing, err := networking.LoadBalancerRoutings(ironcoreNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return balancer{}, fmt.Errorf("reading the routing of the load balancer in IronCore: %w", err)
	}
	for _, destination := range routing.Destinations {
		found.targets = append(found.targets, destination.IP.Addr)
	}
	return found, nil
}

func (*ironcore) kinds() []string { return []string{"LoadBalancer", "LoadBalancerRouting"} }

func (c *ironcore) remaining(ctx context.Context) (string, error) {
	networking := c.lab.Client().NetworkingV1alpha1()
	balancers, err := networking.LoadBalancers(ironcoreNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing the load balancers in IronCore: %w", err)
	}
	routings, err := networking.LoadBalancerRoutings(ironcoreNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing the routings in IronCore: %w", err)
	}
	return strings.Join(append(names("LoadBalancer ", balancers.Items, (*networkingv1alpha1.LoadBalancer).GetName),
		names("LoadBalancerRouting ", routings.Items, (*networkingv1alpha1.LoadBalancerRouting).GetName)...), ", "), nil
}

// names returns the names of objects, each after its kind.
func names[T any](kind string, objects []T, name func(*T) string) []string {
	var all []string
	for i := range objects {
		all = append(all, kind+name(&objects[i]))
	}
	return all
}

func (c *ironcore) access() []string {
	return []string{fmt.Sprintf("IronCore:  kubectl --kubeconfig=%s --namespace=%s get "+
		"machines,networkinterfaces,loadbalancers,loadbalancerroutings -o wide", c.control.Kubeconfig(),
		ironcoreNamespace)}
}
