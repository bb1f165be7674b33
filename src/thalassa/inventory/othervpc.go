package inventory

import (
	"context"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

const (
	// otherVPCAge is the maximum age of a cached VPC.
	otherVPCAge = 10 * time.Minute
	// otherVPCTTL is how long an older one is used if no new one is known.
	otherVPCTTL = time.Hour
	// otherVPCInterval is the minimum interval of these requests, for all machines: with a wrong vpcIdentity no node
	// has a machine in the VPC. otherVPCBurst is how many may follow each other.
	otherVPCInterval = 10 * time.Second
	otherVPCBurst    = 5
)

// machineVPC is another VPC that contains a machine; "" if none does.
type machineVPC struct {
	vpc string
	at  time.Time // when it was requested
}

// VPCOfMachine returns the other VPC that contains the machine with the identity, "" if there is none or it is not
// known. It is a hint for messages: it is requested rarely, and errors are ignored.
func (i *Inventory) VPCOfMachine(ctx context.Context, id string) string {
	return i.otherVPCOf(id, func() (string, error) {
		item, exists, err := store.GetOne(client.Optional(ctx), i.cloud, iaas.MachineEndpoint, id,
			func(m machineItem) (machineItem, bool) {
				return m, !m.object().Gone()
			})
		if err != nil || !exists || item.VPC.Identity == i.vpc {
			return "", err
		}
		return item.VPC.Identity, nil
	})
}

// VPCOfName is VPCOfMachine for a machine that has the name of a node.
func (i *Inventory) VPCOfName(ctx context.Context, node string) string {
	return i.otherVPCOf(slugKey(node), func() (string, error) {
		by := filters.FilterSlug
		if strings.Contains(node, ".") {
			by = filters.FilterName
		}
		asked := []filters.Filter{&filters.FilterKeyValue{Key: by, Value: node}}
		found, err := client.List(client.Optional(ctx), i.cloud, iaas.MachineEndpoint, asked,
			func(m machineItem) (string, bool) {
				return m.VPC.Identity, m.object().IsNamed(node) && m.VPC.Identity != i.vpc && !m.object().Gone()
			})
		if err != nil || len(found) == 0 {
			return "", err
		}
		return found[0], nil
	})
}

func (i *Inventory) otherVPCOf(key string, request func() (string, error)) string {
	last, known := i.otherVPCs.Get(key)
	if (known && time.Since(last.at) <= otherVPCAge) || !i.otherVPCLimit.Allow() {
		return last.vpc
	}
	if now, err := request(); err == nil {
		i.otherVPCs.Put(key, machineVPC{now, time.Now()})
		return now
	}
	return last.vpc
}
