package seed

import (
	"fmt"
	"net/netip"
)

// What the default seeds contain. The credentials are the emulator's own and
// open nothing else.
const (
	DefaultOrganisation     = "o-emulator000000000001"
	DefaultOrganisationSlug = "emulator"
	DefaultToken            = "emulator-personal-access-token"
	DefaultClientID         = "emulator-client"
	DefaultClientSecret     = "emulator-client-secret"
	DefaultRegion           = "nl-01"
	DefaultVPC              = "vpc-emulator000000000001"
	DefaultSubnet           = "subnet-emulator000000000001"
	DefaultServiceAccount   = "sa-emulator000000000001"
	DefaultOwner            = "user-emulator000000000001"
	DefaultSubject          = "system:serviceaccount:kube-system:cloud-controller-manager"
	DefaultAudience         = "https://api.thalassa.cloud"
)

// loopbackSplit is how many more bits than its network the two halves of a
// loopback network have: machines live in the lower half, public load balancer
// addresses come from the upper half.
const loopbackSplit = 1

// Default is a small cloud without a data plane: one organisation, region
// nl-01 with three zones, the usual machine types, one VPC with one subnet, and
// no machines. Public addresses come from a range reserved for benchmarks.
func Default() Seed {
	return seedIn(prefixes("10.0.0.0/16"), prefixes("10.0.0.0/17"), prefixes(publicV4))
}

// publicV4 are public addresses for tests (RFC 2544); the documentation ranges of
// RFC 5737 are too small for a thousand load balancers.
const publicV4 = "198.18.0.0/15"

// DualStack is Default with IPv6 besides IPv4, for the netns data plane:
// in the VPC, in its subnet, and for public addresses, which come from a range
// reserved for documentation. It leaves half of the VPC to more subnets.
func DualStack() Seed {
	return seedIn(prefixes("10.0.0.0/16", "fd00:7a1a::/56"), prefixes("10.0.0.0/17", "fd00:7a1a::/64"),
		prefixes(publicV4, "2001:db8::/64"))
}

// prefixes reads what is known to be right.
func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// Loopback is Default with all addresses in a network of the loopback
// range, as the loopback data plane needs it: for 127.N.0.0/16 the machines are
// in 127.N.0.0/17 and public load balancers in 127.N.128.0/17.
func Loopback(network netip.Prefix) (Seed, error) {
	network = network.Masked()
	if !network.IsValid() || !network.Addr().Is4() || !network.Addr().IsLoopback() || network.Bits() > 24 {
		return Seed{}, fmt.Errorf("network %s is not an IPv4 loopback network of at least /24, such as 127.64.0.0/16",
			network)
	}
	bits := network.Bits() + loopbackSplit
	upper := network.Addr().As4()
	upper[(bits-1)/8] |= 1 << (7 - (bits-1)%8)
	machines := netip.PrefixFrom(network.Addr(), bits)
	public := netip.PrefixFrom(netip.AddrFrom4(upper), bits)
	return seedIn([]netip.Prefix{network}, []netip.Prefix{machines}, []netip.Prefix{public}), nil
}

func seedIn(network, subnet, public []netip.Prefix) Seed {
	return Seed{
		Regions: []Region{{
			Identity: DefaultRegion, Name: DefaultRegion,
			Zones:           []string{"nl-01a", "nl-01b", "nl-01c"},
			PublicAddresses: public,
		}},
		MachineTypes: defaultMachineTypes(),
		Organisations: []Organisation{{
			Identity: DefaultOrganisation, Name: "Emulator", Slug: DefaultOrganisationSlug,
			PersonalAccessTokens: []string{DefaultToken},
			Clients:              []Client{{ID: DefaultClientID, Secret: DefaultClientSecret}},
			ServiceAccounts: []ServiceAccount{{
				Identity: DefaultServiceAccount, Name: "emulator",
				FederatedIdentities: []FederatedIdentity{{Subject: DefaultSubject,
					Audiences: []string{DefaultAudience}}},
			}},
			Members: []Member{{Subject: DefaultOwner, Name: "Owner", Email: "owner@emulator.invalid", Role: "OWNER"}},
			VPCs: []VPC{{
				Identity: DefaultVPC, Name: "emulator", Region: DefaultRegion,
				CIDRs: network,
				Subnets: []Subnet{{
					Identity: DefaultSubnet, Name: "emulator", CIDRs: subnet,
				}},
			}},
		}},
	}
}

// DefaultVolumeTypes are the volume types of a seed that has none.
func DefaultVolumeTypes() []VolumeType {
	return []VolumeType{
		{Identity: "vt-emulator000000000001", Name: "Block", Description: "Block storage"},
		{Identity: "vt-emulator000000000002", Name: "Premium Block", Description: "Block storage with more operations"},
	}
}

// DefaultKubernetesVersions are the versions of Kubernetes of a seed that has none.
func DefaultKubernetesVersions() []KubernetesVersion {
	return []KubernetesVersion{
		{Identity: "kv-emulator000000000001", Name: "1.33.5"},
		{Identity: "kv-emulator000000000002", Name: "1.34.1"},
	}
}

func defaultMachineTypes() []MachineType {
	var types []MachineType
	for i, size := range []string{"small", "medium", "large", "xlarge", "2xlarge", "4xlarge"} {
		types = append(types, MachineType{
			Identity: fmt.Sprintf("mt-emulator%012d", i+1), Name: "pgp-" + size,
			VCPUs: 1 << i, RAMMb: 4096 << i, DiskGb: 20,
		})
	}
	return types
}
