// Package route keeps routes to the pods of Nodes in the route tables of a VPC.
package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/providerid"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/tracing"
)

// Provider implements cloud.Routes with the route tables of the VPC. A route there leads to an address, not to a
// machine.
type Provider struct {
	config    cloudconfig.Config
	inventory *inventory.Inventory
	machines  machineCache
}

var _ cloud.Routes = (*Provider)(nil)

// New returns a provider that reads and writes route tables through the inventory.
func New(c cloudconfig.Config, known *inventory.Inventory) *Provider {
	return &Provider{config: c, inventory: known}
}

// Behaviour implements cloud.Routes.
func (r *Provider) Behaviour() cloud.RouteBehaviour {
	return r.config.Routes.Behaviour()
}

// Owns implements cloud.Routes.
func (r *Provider) Owns(node *corev1.Node) bool {
	_, err := providerid.Machine(node.Spec.ProviderID)
	return err == nil
}

// List implements cloud.Routes.
func (r *Provider) List(ctx context.Context, cluster cloud.PodNetwork,
	maxAge time.Duration) (cloud.RouteTables, error) {
	if maxAge <= 0 {
		maxAge = inventory.Fresh
	}
	all, err := r.inventory.RouteTables(ctx, maxAge)
	if err != nil {
		return cloud.RouteTables{}, err
	}
	in, err := r.placed(ctx, all, cluster.Members)
	// the subnet may be new, with a new route table
	if err == nil && in.unlisted && maxAge > inventory.MachineAge {
		if all, err = r.inventory.RouteTables(ctx, inventory.MachineAge); err == nil {
			in, err = r.placed(ctx, all, cluster.Members)
		}
	}
	if err != nil {
		return cloud.RouteTables{}, err
	}
	bypassing := r.bypassingNodes(ctx, all, in.used, cluster.Members)
	var tables []cloud.RouteTable
	for _, table := range all {
		if in.used[table.ID] || in.certain {
			tables = append(tables, cloud.RouteTable{
				ID: table.ID, Name: nameOf(table), Used: in.used[table.ID], Exclusive: in.used[table.ID] &&
					r.config.Routes.Exclusive,
				Nodes: bypassing[table.ID], Routes: routesIn(table),
			})
		}
	}
	r.findAbandoned(ctx, tables, cluster.Members)
	return cloud.RouteTables{Tables: tables, UnknownTables: in.unserved}, nil
}

// placement contains the route tables that need routes to nodes.
type placement struct {
	used map[string]bool // by identity
	// certain: the tables of all nodes with an address are known. Only then are routes in unused tables deleted. The
	// subnet of a node without an address is not known, so any table may be used by it, and routes to networks of nodes
	// stay in all tables.
	certain bool
	// unlisted: no table contains the subnet of some node.
	unlisted bool
	// unserved contains why the tables of some nodes are not known.
	unserved map[string]string
}

func (r *Provider) placed(ctx context.Context, all []inventory.RouteTable,
	members []cloud.RouteMember) (placement, error) {
	named := r.config.Routes.Table
	if named == "" {
		return r.placedBySubnet(ctx, all, members)
	}
	at := slices.IndexFunc(all, func(t inventory.RouteTable) bool { return t.ID == named })
	if at < 0 {
		at = slices.IndexFunc(all, func(t inventory.RouteTable) bool { return t.Slug == named })
	}
	if at < 0 {
		return placement{},
			fmt.Errorf("routes.table %q of the cloud-config is not in VPC %s, which has the route tables %s", named,
				r.config.VPCIdentity, namesOf(all))
	}
	return placement{used: map[string]bool{all[at].ID: true}, certain: true}, nil
}

// placedBySubnet determines the tables from the subnets of nodes. It is an error if nodes have machines and none is in
// the VPC, because the configuration is probably wrong.
func (r *Provider) placedBySubnet(ctx context.Context, all []inventory.RouteTable,
	members []cloud.RouteMember) (placement, error) {
	vpc, err := r.vpcOf(ctx, members)
	if err != nil {
		return placement{}, fmt.Errorf("looking up the subnets of nodes: %w", err)
	}
	p := placement{used: map[string]bool{}, certain: len(members) > 0, unserved: map[string]string{}}
	inside, outside := false, "" // whether any node is in the VPC; a node that is not
	for _, member := range members {
		found := subnetsOf(vpc, member)
		inside = inside || len(found) > 0
		p.certain = p.certain && (len(found) > 0 || len(member.Addresses) == 0)
		if len(found) == 0 && (!member.Known || len(member.Addresses) > 0) {
			outside = member.Node.Name
		}
		if outsideSubnets(vpc, member) {
			p.unserved[member.Node.Name] = fmt.Sprintf("The machine of this Node has the address %s, which is not in "+
				"any subnet of VPC %s, so no route table gets routes because of it. It is retried automatically; if "+
				"the problem persists, check the machine's subnet in the cloud.",
				member.Addresses[0], r.config.VPCIdentity)
		}
		p.add(all, member.Node.Name, found)
	}
	if !inside && outside != "" {
		return placement{}, fmt.Errorf("no node has a machine with an address in a subnet of VPC %s, node %s for "+
			"example has none: check vpcIdentity in the cloud-config", r.config.VPCIdentity, outside)
	}
	return p, nil
}

// add adds the tables of a node in these subnets.
func (p *placement) add(all []inventory.RouteTable, node string, subnets []string) {
	for _, subnet := range subnets {
		p.unlisted = p.unlisted || !slices.ContainsFunc(all, func(t inventory.RouteTable) bool {
			return slices.Contains(t.Subnets, subnet)
		})
		table, err := tableOf(all, subnet)
		if err != nil {
			p.certain, p.unserved[node] = false,
				fmt.Sprintf("The route table for traffic of this Node is not known: %v.", err)
			continue
		}
		p.used[table] = true
	}
}

// vpcOf returns the VPC. If a node is in none of its subnets, the VPC is read again, because a subnet may be new. A
// failure of that affects only this node.
func (r *Provider) vpcOf(ctx context.Context, members []cloud.RouteMember) (resource.VPC, error) {
	vpc, err := r.inventory.VPC(ctx)
	if err != nil || !slices.ContainsFunc(members, func(m cloud.RouteMember) bool { return outsideSubnets(vpc, m) }) {
		return vpc, err
	}
	if fresh, err := r.inventory.VPCNow(ctx); err == nil {
		return fresh, nil
	}
	return vpc, nil
}

// outsideSubnets reports whether a node has addresses, and none of them is in a subnet of the VPC.
func outsideSubnets(vpc resource.VPC, member cloud.RouteMember) bool {
	return len(member.Addresses) > 0 && len(subnetsOf(vpc, member)) == 0
}

// bypassingNodes returns the names of nodes in subnets with other tables than the configured one, by table. Routes do
// not depend on it, so an error is ignored.
func (r *Provider) bypassingNodes(ctx context.Context, all []inventory.RouteTable, used map[string]bool,
	members []cloud.RouteMember) map[string][]string {
	if r.config.Routes.Table == "" {
		return nil
	}
	vpc, err := r.inventory.VPC(ctx)
	if err != nil {
		return nil
	}
	names := map[string][]string{}
	for _, member := range members {
		for _, subnet := range subnetsOf(vpc, member) {
			if table, err := tableOf(all, subnet); err == nil && !used[table] &&
				!slices.Contains(names[table], member.Node.Name) {
				names[table] = append(names[table], member.Node.Name)
			}
		}
	}
	return names
}

// subnetsOf returns the identities of the subnets that contain the addresses of a node's machine.
func subnetsOf(vpc resource.VPC, member cloud.RouteMember) (found []string) {
	for _, subnet := range vpc.Subnets {
		if slices.ContainsFunc(member.Addresses, subnet.Contains) {
			found = append(found, subnet.ID)
		}
	}
	return found
}

// tableOf returns the identity of a subnet's route table: the one that names the subnet, else the default of the VPC.
func tableOf(all []inventory.RouteTable, subnet string) (string, error) {
	at := slices.IndexFunc(all, func(t inventory.RouteTable) bool { return slices.Contains(t.Subnets, subnet) })
	if at < 0 {
		at = slices.IndexFunc(all, func(t inventory.RouteTable) bool { return t.Default })
	}
	if at < 0 {
		return "", fmt.Errorf("subnet %s: the cloud shows no route table of it, only %s; it is retried "+
			"automatically; if the problem persists, name a route table in routes.table of the cloud-config", subnet,
			namesOf(all))
	}
	return all[at].ID, nil
}

func nameOf(table inventory.RouteTable) string { return fmt.Sprintf("%s (%s)", table.ID, table.Slug) }

func namesOf(tables []inventory.RouteTable) string {
	var names []string
	for _, table := range tables {
		names = append(names, nameOf(table))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// routesIn returns the routes of a table. Routes without a readable destination are ignored.
func routesIn(table inventory.RouteTable) []cloud.ActualRoute {
	var found []cloud.ActualRoute
	for _, one := range table.Routes {
		if one.Destination.IsValid() {
			found = append(found, cloud.ActualRoute{Destination: one.Destination, Gateway: one.Gateway, Handle: one.ID})
		}
	}
	return found
}

// Create implements cloud.Routes.
func (r *Provider) Create(ctx context.Context, table string, wanted cloud.Route) error {
	ctx = tracing.WithCause(ctx, fmt.Sprintf("Node %s: its pods are in %s", wanted.Node.Name, wanted.Destination))
	return refusalOf(r.inventory.CreateRoute(ctx, table, wanted.Destination, wanted.Gateway))
}

// Change implements cloud.Routes. The route keeps its identity.
func (r *Provider) Change(ctx context.Context, table string, from cloud.ActualRoute, to cloud.Route) error {
	id, err := identityOf(from)
	if err != nil {
		return err
	}
	ctx = tracing.WithCause(ctx, fmt.Sprintf("Node %s: its pods are in %s, by %s and not by %s", to.Node.Name,
		to.Destination, to.Gateway, from.Gateway))
	return refusalOf(r.inventory.ChangeRoute(ctx, table, id, to.Destination, to.Gateway))
}

// Delete implements cloud.Routes.
func (r *Provider) Delete(ctx context.Context, table string, found cloud.ActualRoute) error {
	id, err := identityOf(found)
	if err != nil {
		return err
	}
	ctx = tracing.WithCause(ctx, fmt.Sprintf("no Node has pods in %s by %s", found.Destination, found.Gateway))
	return refusalOf(r.inventory.DeleteRoute(ctx, table, id))
}

func identityOf(found cloud.ActualRoute) (string, error) {
	id, ok := found.Handle.(string)
	if !ok || id == "" {
		return "", fmt.Errorf("the cloud shows no identity of the route to %s, without which it cannot be written: %w",
			found.Destination, client.ErrMalformed)
	}
	return id, nil
}

// refusalOf describes whether the cloud would also refuse other writes. Which status means that a quota is used up is
// not documented.
func refusalOf(err error) error {
	problem := &cloud.RouteProblem{OfTable: true, Err: err}
	switch {
	case errors.Is(err, client.ErrQuota):
		problem.Reason = cloud.RouteQuotaExceeded
	case errors.Is(err, client.ErrUnauthorised), errors.Is(err, client.ErrUnavailable),
		errors.Is(err, client.ErrThrottled), errors.Is(err, context.DeadlineExceeded):
	default:
		return err
	}
	return problem
}
