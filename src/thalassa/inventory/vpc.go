package inventory

import (
	"context"
	"fmt"
	"net/url"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// VPC is the network of the cluster.
type VPC struct {
	ID      string
	Region  string // slug
	Subnets []Subnet
}

// Subnet is one of the VPC's subnets.
type Subnet struct {
	ID, Slug, Name string
	Labels         Labels
}

// VPC returns the cluster's VPC.
func (i *Inventory) VPC(ctx context.Context) (VPC, error) {
	found, err := i.vpcs.find(ctx, i.vpc, vpcAge)
	if err != nil {
		return VPC{}, err
	}
	if len(found) == 0 {
		return VPC{}, fmt.Errorf("the cloud answered with another VPC than %s: %w; set vpcIdentity to the VPC's identity, not its name", i.vpc, client.ErrMalformed)
	}
	return found[0], nil
}

// Probe asks the cloud for the VPC, however well it is known: the cheapest proof that endpoint and credentials are good.
func (i *Inventory) Probe(ctx context.Context) error {
	i.vpcs.distrust()
	_, err := i.VPC(ctx)
	return err
}

// ProbeWith asks for the VPC with what the context carries, and leaves everything that is known as it is.
func (i *Inventory) ProbeWith(ctx context.Context) error {
	_, err := i.getVPC(ctx)
	return err
}

// vpcItem is as much of the API's VPC as is needed.
type vpcItem struct {
	Identity    string `json:"identity"`
	CloudRegion struct {
		Slug string `json:"slug"`
	} `json:"cloudRegion"`
	Subnets []struct {
		Identity string `json:"identity"`
		Slug     string `json:"slug"`
		Name     string `json:"name"`
		Labels   Labels `json:"labels"`
	} `json:"subnets"`
}

func (i *Inventory) getVPC(ctx context.Context) ([]VPC, error) {
	got, err := client.Get[vpcItem](ctx, i.cloud, iaas.VpcEndpoint+"/"+url.PathEscape(i.vpc))
	if err != nil {
		return nil, err
	}
	vpc := VPC{ID: got.Identity, Region: got.CloudRegion.Slug}
	for _, s := range got.Subnets {
		vpc.Subnets = append(vpc.Subnets, Subnet{ID: s.Identity, Slug: s.Slug, Name: s.Name, Labels: s.Labels})
	}
	return []VPC{vpc}, nil
}
