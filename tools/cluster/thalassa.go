//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
)

const (
	cloudPort = 8080
	// headerTimeout bounds how long a client of the cloud may take for its headers.
	headerTimeout = 10 * time.Second
)

// thalassa is Thalassa Cloud.
type thalassa struct {
	cluster  *Cluster
	emulator *emulator.Emulator
	url      string // of its API, on this machine's loopback address
	endpoint string // where machines find its API
}

// start starts the cloud. Its API answers machines at an address outside of the VPC, and this machine
// at a loopback address.
func (t *thalassa) start(ctx context.Context) (err error) {
	c := t.cluster
	t.emulator, err = c.newCloud(c.plane)
	if err != nil {
		return err
	}
	c.later("the cloud", t.emulator.Close)
	at := netip.AddrPortFrom(c.ClientAddress(), cloudPort).String()
	outside, err := c.Client().Listen(ctx, "tcp", at)
	if err != nil {
		return fmt.Errorf("serving the cloud's API to machines: %w", err)
	}
	inside, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("serving the cloud's API: %w", err), outside.Close())
	}
	server := &http.Server{Handler: t.emulator, ReadHeaderTimeout: headerTimeout}
	for _, listener := range []net.Listener{outside, inside} {
		go func() { _ = server.Serve(listener) }()
	}
	c.later("the cloud's API", server.Close)
	t.url, t.endpoint = "http://"+inside.Addr().String(), "http://"+at
	c.say("Thalassa Cloud (emulated) answers at %s; machines are in namespaces that begin with %s-", t.url,
		c.plane.Name())
	return nil
}

func (c *Cluster) newCloud(plane emulator.DataPlane) (*emulator.Emulator, error) {
	return emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), DataPlane: plane, Logger: c.log(),
		Middleware: c.options.Middleware})
}

func (t *thalassa) addMachine(_ context.Context, name string) error {
	_, err := t.emulator.AddMachine(emulator.MachineSpec{Name: name})
	return err
}

func (t *thalassa) deleteMachine(_ context.Context, name string) error {
	return t.emulator.DeleteMachine(name)
}

func (t *thalassa) setPower(_ context.Context, name string, on bool) error {
	if on {
		return t.emulator.StartMachine(name)
	}
	return t.emulator.StopMachine(name)
}

func (t *thalassa) command() string { return "curl -s " + t.url + "/_emulator/state" }

func (*thalassa) credentials() (map[string]string, error) {
	return map[string]string{"clientID": emulator.DefaultClientID, "clientSecret": emulator.DefaultClientSecret}, nil
}

func (t *thalassa) values(routes map[string]any) map[string]any {
	config := map[string]any{
		"organisation": emulator.DefaultOrganisation, "vpcIdentity": emulator.DefaultVPC, "cluster": Name,
		"endpoint": t.endpoint,
	}
	maps.Copy(config, routes)
	return map[string]any{"cloudConfig": config, "credentials": map[string]any{"existingSecret": Credentials}}
}

// Cloud is Thalassa Cloud; nil in a cluster in IronCore.
func (c *Cluster) Cloud() *emulator.Emulator {
	if c.thalassa == nil {
		return nil
	}
	return c.thalassa.emulator
}

// CloudURL is where the API of Thalassa Cloud is on this machine; empty in a cluster in IronCore.
func (c *Cluster) CloudURL() string {
	if c.thalassa == nil {
		return ""
	}
	return c.thalassa.url
}

// Endpoint is where machines find the API of Thalassa Cloud.
func (c *Cluster) Endpoint() string { return c.thalassa.endpoint }

// Customer is a client of Thalassa Cloud, as its customer.
func (c *Cluster) Customer() (*iaas.Client, error) { return customer(c.CloudURL()) }

// route makes the VPC send what is for a node's pods to its machine.
func (t *thalassa) route(ctx context.Context, e netns.Event, cidrs []string) error {
	cloud, err := customer(t.url)
	if err != nil {
		return err
	}
	tables, err := cloud.ListRouteTables(ctx, nil)
	if err != nil {
		return fmt.Errorf("routing to the pods of node %s: %w", e.Name, err)
	}
	i := slices.IndexFunc(tables, func(t iaas.RouteTable) bool {
		return t.IsDefault && t.Vpc != nil && t.Vpc.Identity == emulator.DefaultVPC
	})
	if i < 0 {
		return fmt.Errorf("routing to the pods of node %s: VPC %s has no default route table", e.Name,
			emulator.DefaultVPC)
	}
	for _, cidr := range cidrs {
		if err := replaceRoute(ctx, cloud, tables[i], cidr, e.Addresses); err != nil {
			return fmt.Errorf("routing to the pods of node %s: %w", e.Name, err)
		}
	}
	return nil
}

// replaceRoute makes a route to the address of the same family, in place of one to another address.
func replaceRoute(ctx context.Context, cloud *iaas.Client, table iaas.RouteTable, cidr string,
	addresses []netip.Addr) error {
	to, err := netip.ParsePrefix(cidr)
	if err != nil {
		return err
	}
	via := slices.IndexFunc(addresses, func(a netip.Addr) bool { return a.Is4() == to.Addr().Is4() })
	if via < 0 {
		return fmt.Errorf("the machine has no address of the family of %s", cidr)
	}
	gateway := addresses[via].String()
	for _, route := range table.Routes {
		if route.DestinationCidrBlock != cidr {
			continue
		}
		if route.GatewayAddress != nil && *route.GatewayAddress == gateway {
			return nil
		}
		if err := cloud.DeleteRouteTableRoute(ctx, table.Identity, route.Identity); err != nil {
			return err
		}
	}
	_, err = cloud.CreateRouteTableRoute(ctx, table.Identity, iaas.CreateRouteTableRoute{DestinationCidrBlock: cidr,
		GatewayAddress: gateway})
	return err
}
