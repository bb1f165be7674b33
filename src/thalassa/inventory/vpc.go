package inventory

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

// VPC returns the cluster's VPC.
func (i *Inventory) VPC(ctx context.Context) (resource.VPC, error) { return i.vpcAt(ctx, vpcAge) }

// VPCNow returns the cluster's VPC, at most a minute old, for callers that do not find an object in it.
func (i *Inventory) VPCNow(ctx context.Context) (resource.VPC, error) {
	return i.vpcAt(ctx, MachineAge)
}

func (i *Inventory) vpcAt(ctx context.Context, maxAge time.Duration) (resource.VPC, error) {
	found, err := i.vpcs.Find(ctx, i.vpc, maxAge)
	if err != nil {
		return resource.VPC{}, err
	}
	if len(found) == 0 {
		return resource.VPC{}, i.otherVPC()
	}
	return found[0], nil
}

// Subnet returns the VPC's subnet with the identity or slug, and all known subnets. "Not found" is at most a minute
// old.
func (i *Inventory) Subnet(ctx context.Context, ref string) (subnet resource.Subnet, found bool,
	known []resource.Subnet, err error) {
	vpc, err := i.VPC(ctx)
	if err != nil {
		return resource.Subnet{}, false, nil, err
	}
	if subnet, found = vpc.Subnet(ref); found || ref == "" {
		return subnet, found, vpc.Subnets, nil
	}
	fresh, err := i.VPCNow(ctx)
	if err != nil {
		return resource.Subnet{}, false, nil, err
	}
	subnet, found = fresh.Subnet(ref)
	return subnet, found, fresh.Subnets, nil
}

// Probe requests the VPC even if it is known: the simplest proof that endpoint and credentials are valid.
func (i *Inventory) Probe(ctx context.Context) error {
	i.vpcs.Invalidate()
	_, err := i.VPC(ctx)
	return err
}

// Ping requests the VPC, and shares the call with nobody: one that was begun in an outage may never be answered.
func (i *Inventory) Ping(ctx context.Context) error {
	_, err := client.Get[client.Ignored](ctx, i.cloud, iaas.VpcEndpoint+"/"+url.PathEscape(i.vpc))
	return err
}

// certainFor is how long an answer shows that the cloud answers.
const certainFor = time.Second

// answerTimeout is the longest time that CheckAnswers waits.
const answerTimeout = 3 * time.Second

// CheckAnswers returns an error if the cloud does not answer within some seconds, without a call if it has just
// answered. It is called before an object is created: a creation without an answer may have happened, so that it must
// not be repeated for VisibilityDelay. In an outage, nothing is sent, and the creation can follow immediately after it.
func (i *Inventory) CheckAnswers(ctx context.Context) error {
	if i.cloud.AnsweredWithin(certainFor) {
		return nil
	}
	_, err, _ := i.pings.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), answerTimeout,
			fmt.Errorf("no answer within %s", answerTimeout))
		defer cancel()
		return nil, i.Ping(ctx)
	})
	if err != nil {
		return fmt.Errorf("nothing is created, because the cloud does not answer: %w", err)
	}
	return nil
}

// reading reads all objects of one kind once.
type reading struct {
	kinds   string // "load balancers"
	onlyFor string // what needs them; "" if every cluster does
	read    func(ctx context.Context, maxAge time.Duration) error
}

func (i *Inventory) readings() []reading {
	return []reading{
		{"the VPC", "", func(ctx context.Context, _ time.Duration) error { return i.Probe(ctx) }},
		{"machines", "", i.machines.Refresh},
		{"load balancers", "", i.balancers.Refresh},
		{"target groups", "", i.groups.Refresh},
		{"security groups", "security groups of load balancers", i.securityGroups.Refresh},
		{"reserved IPs", "reserved addresses of load balancers", i.reservedIPs.Refresh},
		{"route tables", "routes", i.routing.Refresh},
		{"machine types", "labels of machine types", i.machineTypes.Refresh},
	}
}

// CheckAccess reads each kind of objects once.
func (i *Inventory) CheckAccess(ctx context.Context) []cloud.Access {
	var all []cloud.Access
	for _, one := range i.readings() {
		all = append(all, cloud.Access{Action: "read " + one.kinds, OnlyFor: one.onlyFor, Err: one.read(ctx, Fresh)})
	}
	return all
}

// ProbeAll reads all kinds of objects that every cluster needs: credentials that can read only some of them are not
// sufficient.
func (i *Inventory) ProbeAll(ctx context.Context) error {
	for _, one := range i.readings() {
		if one.onlyFor != "" {
			continue
		}
		if err := one.read(ctx, Fresh); err != nil {
			return err
		}
	}
	return nil
}

func (i *Inventory) otherVPC() error {
	return fmt.Errorf("the cloud answered with another VPC than %s: %w; set vpcIdentity to the VPC's identity, not "+
		"its name", i.vpc, client.ErrMalformed)
}

// vpcItem is as much of the API's VPC as is needed.
type vpcItem struct {
	Identity    string `json:"identity"`
	CloudRegion struct {
		Slug string `json:"slug"`
	} `json:"cloudRegion"`
	Subnets []struct {
		Identity string          `json:"identity"`
		Slug     string          `json:"slug"`
		Labels   resource.Labels `json:"labels"`
		CIDR     string          `json:"cidr"`
	} `json:"subnets"`
}

func (i *Inventory) getVPC(ctx context.Context) ([]resource.VPC, error) {
	got, err := client.Get[vpcItem](ctx, i.cloud, iaas.VpcEndpoint+"/"+url.PathEscape(i.vpc))
	if err != nil {
		return nil, err
	}
	vpc := resource.VPC{ID: got.Identity, Region: got.CloudRegion.Slug}
	for _, s := range got.Subnets {
		vpc.Subnets = append(vpc.Subnets, resource.Subnet{ID: s.Identity, Slug: s.Slug, Labels: s.Labels,
			CIDRs: prefixes(s.CIDR)})
	}
	return []resource.VPC{vpc}, nil
}

// prefixes parses one or several prefixes, separated by commas. Others are ignored, because few callers need them.
func prefixes(text string) []netip.Prefix {
	var read []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		if prefix, err := netip.ParsePrefix(strings.TrimSpace(part)); err == nil {
			read = append(read, prefix.Masked())
		}
	}
	return read
}
