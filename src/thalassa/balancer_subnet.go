package thalassa

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// labelSubnetRole marks the subnet for load balancers when a VPC has several; the existing CCM reads the same one.
const labelSubnetRole = "kubernetes.io/role/lb"

// subnet returns the identity of the subnet for new load balancers: the wanted one, else the configured one, else the VPC's only one, else the
// first that is labelled for it.
func (b *balancers) subnet(ctx context.Context, wanted string) (string, error) {
	vpc, err := b.inventory.VPC(ctx)
	if err != nil {
		return "", fmt.Errorf("choosing a subnet: %w", err)
	}
	source := "loadBalancer.defaults.subnet"
	if wanted == "" {
		wanted, source = b.config.DefaultSubnet, "defaultSubnet"
	}
	if wanted != "" {
		for _, subnet := range vpc.Subnets {
			if subnet.ID == wanted || subnet.Slug == wanted {
				return subnet.ID, nil
			}
		}
		return "", fmt.Errorf("%s %q of the cloud-config is not in VPC %s, which has %s", source, wanted, vpc.ID, names(vpc.Subnets))
	}
	if len(vpc.Subnets) == 1 {
		return vpc.Subnets[0].ID, nil
	}
	for _, subnet := range vpc.Subnets {
		if slices.Contains([]string{"true", "1", "yes"}, subnet.Labels[labelSubnetRole]) {
			return subnet.ID, nil
		}
	}
	return "", fmt.Errorf("VPC %s has %s: set defaultSubnet in the cloud-config, or label one of them %s=true", vpc.ID, names(vpc.Subnets), labelSubnetRole)
}

func names(subnets []inventory.Subnet) string {
	if len(subnets) == 0 {
		return "no subnets"
	}
	list := make([]string, 0, len(subnets))
	for _, subnet := range subnets {
		list = append(list, fmt.Sprintf("%s (%s)", subnet.ID, subnet.Slug))
	}
	return "the subnets " + strings.Join(list, ", ")
}
