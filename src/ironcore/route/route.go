// Package route reads and writes the routes to pods on IronCore. A route is a static prefix of the network interface
// that has an address of the Node.
package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	commonv1alpha1 "github.com/ironcore-dev/ironcore/api/common/v1alpha1"
	networkingv1alpha1 "github.com/ironcore-dev/ironcore/api/networking/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/store"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// Provider implements cloud.Routes. The network is the only table.
type Provider struct{ store *store.Store }

var _ cloud.Routes = (*Provider)(nil)

// New returns a provider of the routes in a store.
func New(s *store.Store) *Provider { return &Provider{store: s} }

// Behaviour implements cloud.Routes. The watches report all changes.
func (p *Provider) Behaviour() cloud.RouteBehaviour { return cloud.RouteBehaviour{} }

// Owns implements cloud.Routes.
func (p *Provider) Owns(node *corev1.Node) bool { return providerid.Owned(node.Spec.ProviderID) }

// Members returns the Nodes with their machines. A Node that does not have the name of its machine, or whose machine
// has the label of another cluster, is not one.
func (p *Provider) Members(ctx context.Context, nodes []*corev1.Node) ([]cloud.RouteMember, error) {
	if err := p.store.WaitForSync(ctx, p.store.Machines, p.store.NetworkInterfaces); err != nil {
		return nil, err
	}
	var members []cloud.RouteMember
	for _, node := range nodes {
		_, machine, err := p.store.MachineOf(node)
		if err != nil {
			continue
		}
		member := cloud.RouteMember{Node: node, Known: machine != nil, Confirmed: machine != nil}
		if machine != nil {
			interfaces, _ := p.store.InterfacesOf(machine) // those that are not known have no address yet
			for _, one := range interfaces {
				member.Addresses = append(member.Addresses, addressesOf(one)...)
			}
		}
		members = append(members, member)
	}
	return members, nil
}

// List implements cloud.Routes. The gateway of a route is the first address of its network interface that has the IP
// family of the destination.
func (p *Provider) List(ctx context.Context, _ cloud.PodNetwork, _ time.Duration) (cloud.RouteTables, error) {
	if err := p.store.WaitForSync(ctx, p.store.Machines, p.store.NetworkInterfaces); err != nil {
		return cloud.RouteTables{}, err
	}
	table := cloud.RouteTable{ID: p.store.Network, Name: "Network " + p.store.Network, Used: true}
	for _, one := range p.store.NetworkInterfaces.List() {
		if one.Spec.NetworkRef.Name == p.store.Network {
			table.Routes = append(table.Routes, p.routesOf(one)...)
		}
	}
	return cloud.RouteTables{Tables: []cloud.RouteTable{table}}, nil
}

func (p *Provider) routesOf(one *networkingv1alpha1.NetworkInterface) []cloud.ActualRoute {
	managed := p.managed(one)
	var routes []cloud.ActualRoute
	for _, source := range one.Spec.Prefixes {
		// IronCore manages ephemeral prefixes. The program that this one replaces may have written a prefix twice.
		if source.Value == nil || slices.ContainsFunc(routes, func(r cloud.ActualRoute) bool {
			return r.Destination == source.Value.Prefix
		}) {
			continue
		}
		route := cloud.ActualRoute{Destination: source.Value.Prefix, Handle: one.Name,
			Managed: slices.Contains(managed, source.Value.Prefix)}
		for _, address := range slices.Backward(addressesOf(one)) {
			if address.Is4() == route.Destination.Addr().Is4() {
				route.Gateway = address
			}
		}
		routes = append(routes, route)
	}
	return routes
}

// managed returns the prefixes that this cluster manages on a network interface.
func (p *Provider) managed(one *networkingv1alpha1.NetworkInterface) []netip.Prefix {
	cluster, managed := record(one)
	if cluster != p.store.Cluster {
		return nil
	}
	return managed
}

func addressesOf(one *networkingv1alpha1.NetworkInterface) []netip.Addr {
	addresses := make([]netip.Addr, len(one.Status.IPs))
	for i, ip := range one.Status.IPs {
		addresses[i] = ip.Unmap()
	}
	return addresses
}

// Create appends the destination to the prefixes of the network interface with the gateway, unless it has it.
func (p *Provider) Create(ctx context.Context, _ string, route cloud.Route) error {
	one, err := p.interfaceWith(route.Gateway)
	if err != nil {
		return err
	}
	ctx = tracing.WithCause(ctx, fmt.Sprintf("a Node has pods in %s by %s", route.Destination, route.Gateway))
	managed := append(without(p.managed(one), route.Destination), route.Destination)
	prefixes := one.Spec.Prefixes
	if position(prefixes, route.Destination) < 0 {
		value := commonv1alpha1.IPPrefix{Prefix: route.Destination}
		prefixes = append(slices.Clone(prefixes), networkingv1alpha1.PrefixSource{Value: &value})
	}
	return p.write(ctx, one, prefixes, managed)
}

// errNoInterface is the reason why a route cannot be created.
var errNoInterface = errors.New("no network interface has the address")

// interfaceWith returns the network interface in the network that has an address.
func (p *Provider) interfaceWith(address netip.Addr) (*networkingv1alpha1.NetworkInterface, error) {
	for _, one := range p.store.InterfacesWith(address) {
		if one.Spec.NetworkRef.Name == p.store.Network {
			return one, nil
		}
	}
	return nil, fmt.Errorf("%w %s in the Network %s: check networkName in the cloud-config file, and the network "+
		"interfaces of the machine", errNoInterface, address, p.store.Network)
}

// Change creates the route on the other network interface first, so that there is always one.
func (p *Provider) Change(ctx context.Context, table string, from cloud.ActualRoute, to cloud.Route) error {
	one, err := p.interfaceWith(to.Gateway)
	if err != nil {
		return err
	}
	if err := p.Create(ctx, table, to); err != nil || one.Name == from.Handle {
		return err
	}
	return p.Delete(ctx, table, from)
}

// Delete removes the destination from the prefixes of the network interface. Ephemeral prefixes keep their positions,
// because IronCore names their objects by them.
func (p *Provider) Delete(ctx context.Context, _ string, route cloud.ActualRoute) error {
	name, _ := route.Handle.(string)
	one, exists := p.store.NetworkInterfaces.Get(name)
	if !exists {
		return nil
	}
	prefixes, err := remove(one.Spec.Prefixes, route.Destination)
	if err != nil {
		return &cloud.RouteProblem{Err: fmt.Errorf("deleting the route to %s from network interface %s: %w",
			route.Destination, name, err)}
	}
	ctx = tracing.WithCause(ctx, fmt.Sprintf("no Node has pods in %s by %s", route.Destination, route.Gateway))
	return p.write(ctx, one, prefixes, without(p.managed(one), route.Destination))
}

// write writes prefixes and the record of those that are managed, if they differ and the network interface has not
// changed since.
func (p *Provider) write(ctx context.Context, one *networkingv1alpha1.NetworkInterface,
	prefixes []networkingv1alpha1.PrefixSource, managed []netip.Prefix) error {
	text := recordText(p.store.Cluster, managed)
	if other, _ := record(one); other != "" && other != p.store.Cluster {
		return fmt.Errorf("writing the prefixes of network interface %s: its annotation %s says that the cluster %s "+
			"manages them, not %s: another cluster uses the machine", one.Name, label.Routes, other, p.store.Cluster)
	}
	if len(prefixes) == len(one.Spec.Prefixes) && text == one.Annotations[label.Routes] {
		return nil
	}
	change := map[string]any{
		"metadata": map[string]any{"resourceVersion": one.ResourceVersion,
			"annotations": map[string]any{label.Routes: valueOrNull(text)}},
		"spec": map[string]any{"prefixes": prefixes},
	}
	data, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encoding the prefixes of network interface %s: %w", one.Name, err)
	}
	written, err := p.store.Client.NetworkInterfaces.Patch(ctx, one.Name, types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: label.FieldManager})
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return fmt.Errorf("%w: writing the prefixes of network interface %s: %w", cloud.ErrStale, one.Name, err)
	case err != nil:
		return fmt.Errorf("writing the prefixes of network interface %s: %w", one.Name, err)
	}
	p.store.NetworkInterfaces.Written(written)
	return nil
}

// valueOrNull returns a value for a merge patch, in which null removes a field.
func valueOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func without(prefixes []netip.Prefix, prefix netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(prefixes), func(one netip.Prefix) bool { return one == prefix })
}
