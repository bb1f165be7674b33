//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"

	computev1alpha1 "github.com/ironcore-dev/ironcore/api/compute/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator/role"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorelab"
	"github.com/thalassa-cloud/thalassa-ccm/tools/ironcorenet"
)

const (
	// IronCoreNamespace has all objects of the cluster in IronCore.
	IronCoreNamespace = "k8s-lab"
	// ironcoreNetwork and ironcorePrefix are the names of its Network and of the Prefix of internal load balancers.
	ironcoreNetwork, ironcorePrefix = "nodes", "internal"
	// ironcoreUser is who the cloud controller manager is in IronCore.
	ironcoreUser = "thalassa-ccm"
	// ironcoreKey is the key of the kubeconfig in the Secret with the credentials.
	ironcoreKey = "kubeconfig"
)

// family has the networks of one address family in IronCore. Public ones are those for documentation (RFC 5737, RFC
// 3849), the others private ones (RFC 1918, RFC 4193).
type family struct {
	machines, internal, public netip.Prefix
	lastMachine, lastPublic    netip.Addr
}

// ironcore is IronCore with what plays its machine pool and its network provider, and with real permissions.
type ironcore struct {
	cluster  *Cluster
	control  *controlplane.ControlPlane
	lab      *ironcorelab.Lab
	families []*family
	given    map[ironcorelab.Claim]netip.Addr // addresses of public load balancers
}

func families() []*family {
	var all []*family
	for _, text := range [][]string{
		{"10.20.0.0/24", "10.20.1.0/24", "203.0.113.0/24"},
		{"fd00:20::/64", "fd00:20:0:1::/64", "2001:db8:20::/64"},
	} {
		one := &family{machines: netip.MustParsePrefix(text[0]), internal: netip.MustParsePrefix(text[1]),
			public: netip.MustParsePrefix(text[2])}
		one.lastMachine, one.lastPublic = one.machines.Addr().Next(), one.public.Addr() // the first one is the router's
		all = append(all, one)
	}
	return all
}

// start starts IronCore, at the client's address, and what plays its machine pool and its network provider.
func (i *ironcore) start(ctx context.Context) (err error) {
	c := i.cluster
	i.families, i.given = families(), map[ironcorelab.Claim]netip.Addr{}
	i.control, err = controlplane.Start(ctx, controlplane.Options{
		Dir: c.folder.File("ironcore"), Binary: c.programs.lab, Address: c.ClientAddress(), Port: apiPort,
		Enter: []string{"nsenter", "--net=" + c.Client().Path()}, Dial: c.Client().DialContext,
	})
	if err != nil {
		return err
	}
	c.later("the API of IronCore", i.control.Stop)
	for _, step := range []func(context.Context) error{i.addNamespace, i.startComponents, i.permit} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	c.say("IronCore (API server, controller manager, stand-ins for machines and network) answers at %s; machines are "+
		"in namespaces that begin with %s-", i.control.Config().Host, c.plane.Name())
	return nil
}

func (i *ironcore) addNamespace(ctx context.Context) error {
	if err := ironcorelab.Serve(ctx, i.control, i.cluster.programs.ironcore); err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(i.control.Config())
	if err != nil {
		return fmt.Errorf("preparing a client of IronCore: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: IronCoreNamespace}}
	if _, err := clients.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s in IronCore: %w", IronCoreNamespace, err)
	}
	return nil
}

// startComponents starts what plays the machine pool and the network provider, and creates a Network, and Prefixes for
// internal load balancers.
func (i *ironcore) startComponents(ctx context.Context) (err error) {
	c := i.cluster
	var options ironcorenet.Options
	for _, family := range i.families {
		options.Machines = append(options.Machines, family.machines)
		options.Reachable = append(options.Reachable, family.machines, family.internal, family.public)
	}
	plane := ironcorenet.New(c.plane, options)
	if err := plane.Wire(); err != nil {
		return err
	}
	i.lab, err = ironcorelab.Start(context.WithoutCancel(ctx), i.control.Config(), ironcorelab.Options{
		Namespace: IronCoreNamespace, Network: ironcoreNetwork, Address: i.address, DataPlane: plane,
		Report: func(err error) { c.say("IronCore: %v", err) },
	})
	if err != nil {
		return err
	}
	c.later("the components of IronCore", func() error {
		i.lab.Stop()
		return nil
	})
	return errors.Join(i.lab.AddNetwork(ctx), i.lab.AddPrefix(ctx, ironcorePrefix, i.families[0].internal))
}

// address chooses the addresses of public load balancers.
func (i *ironcore) address(claim ironcorelab.Claim) netip.Addr {
	if i.given[claim].IsValid() {
		return i.given[claim]
	}
	for _, family := range i.families {
		if family.public.Addr().Is4() == (claim.Family == corev1.IPv4Protocol) {
			family.lastPublic = family.lastPublic.Next()
			i.given[claim] = family.lastPublic
		}
	}
	return i.given[claim]
}

// permit installs the part of the chart with the permissions in IronCore, and writes the kubeconfig of the user that
// gets them.
func (i *ironcore) permit(ctx context.Context) error {
	c := i.cluster
	_, err := chart.Install(ctx, i.control.Config(), c.options.Chart, chart.Release{
		Name: Release, Namespace: IronCoreNamespace, Values: map[string]any{
			"cloud": "ironcore", "part": "cloud",
			"ironcore": map[string]any{"subject": map[string]any{"kind": "User", "name": ironcoreUser}},
		},
	}, io.Discard)
	if err != nil {
		return err
	}
	user, err := i.control.User(ironcoreUser)
	if err != nil {
		return fmt.Errorf("making the credentials of user %s in IronCore: %w", ironcoreUser, err)
	}
	return controlplane.WriteKubeconfig(i.kubeconfig(), user)
}

func (i *ironcore) kubeconfig() string {
	return filepath.Join(i.cluster.folder.Path(), "ironcore-"+ironcoreUser+".kubeconfig")
}

func (i *ironcore) command() string {
	return fmt.Sprintf("nsenter --net=%s kubectl --kubeconfig=%s --namespace=%s get "+
		"machines,networkinterfaces,loadbalancers,loadbalancerroutings -o wide", i.cluster.Client().Path(),
		i.control.Kubeconfig(), IronCoreNamespace)
}

func (i *ironcore) credentials() (map[string]string, error) {
	content, err := os.ReadFile(i.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of user %s: %w", ironcoreUser, err)
	}
	return map[string]string{ironcoreKey: string(content)}, nil
}

func (*ironcore) values(routes map[string]any) map[string]any {
	return map[string]any{
		"cloud": "ironcore", "cloudConfig": routes,
		"ironcore": map[string]any{
			"networkName": ironcoreNetwork, "prefixName": ironcorePrefix, "clusterName": Name,
			"namespace": IronCoreNamespace, "kubeconfig": map[string]any{"existingSecret": Credentials},
		},
	}
}

func (i *ironcore) addMachine(ctx context.Context, name string) error {
	var at []netip.Addr
	for _, family := range i.families {
		family.lastMachine = family.lastMachine.Next()
		at = append(at, family.lastMachine)
	}
	return i.lab.AddMachine(ctx, role.Machine{Name: name, Pool: "pool-a", Zone: "zone-a", Region: "lab", Addresses: at})
}

func (i *ironcore) deleteMachine(ctx context.Context, name string) error {
	return i.lab.DeleteMachine(ctx, name)
}

func (i *ironcore) setPower(ctx context.Context, name string, on bool) error {
	power := computev1alpha1.PowerOff
	if on {
		power = computev1alpha1.PowerOn
	}
	return i.lab.SetPower(ctx, name, power)
}

// route is not called: routes are the cloud controller manager's.
func (*ironcore) route(context.Context, netns.Event, []string) error { return errOwnNetworks }

// IronCore is what plays the machine pool and the network provider of IronCore; nil in a cluster in Thalassa Cloud.
func (c *Cluster) IronCore() *ironcorelab.Lab {
	if c.ironcore == nil {
		return nil
	}
	return c.ironcore.lab
}
