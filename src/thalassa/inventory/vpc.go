package inventory

import (
	"context"
	"fmt"

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

func (i *Inventory) getVPC(ctx context.Context) ([]VPC, error) {
	got, err := i.cloud.GetVpc(ctx, i.vpc)
	if err != nil {
		return nil, client.Plain(err)
	}
	if got == nil {
		return nil, unanswered("reading VPC " + i.vpc)
	}
	vpc := VPC{ID: got.Identity}
	if got.CloudRegion != nil {
		vpc.Region = got.CloudRegion.Slug
	}
	for _, subnet := range got.Subnets {
		vpc.Subnets = append(vpc.Subnets, subnetOf(subnet))
	}
	return []VPC{vpc}, nil
}

func subnetOf(s iaas.Subnet) Subnet {
	return Subnet{ID: s.Identity, Slug: s.Slug, Name: s.Name, Labels: s.Labels}
}
