package inventory

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"github.com/thalassa-cloud/client-go/iaas"
	"golang.org/x/time/rate"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
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

// otherVPCCache records which machines are in other VPCs.
type otherVPCCache struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	vpcs    map[string]cachedVPC // by key
}

// cachedVPC is the VPC of one machine; "" if no other VPC has it.
type cachedVPC struct {
	vpc string
	at  time.Time
}

func newOtherVPCCache() *otherVPCCache {
	return &otherVPCCache{limiter: rate.NewLimiter(rate.Every(otherVPCInterval), otherVPCBurst),
		vpcs: map[string]cachedVPC{}}
}

// get returns the cached VPC of a key; ask reports whether to request it again.
func (c *otherVPCCache) get(key string) (vpc string, ask bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.vpcs[key]
	return last.vpc, (!known || time.Since(last.at) > otherVPCAge) && c.limiter.Allow()
}

func (c *otherVPCCache) put(key, vpc string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.vpcs, func(_ string, w cachedVPC) bool { return time.Since(w.at) > otherVPCTTL })
	c.vpcs[key] = cachedVPC{vpc, time.Now()}
}

// VPCOfMachine returns the other VPC that contains the machine with the identity, "" if there is none or it is not
// known. It is a hint for messages: it is requested rarely, and errors are ignored.
func (i *Inventory) VPCOfMachine(ctx context.Context, id string) string {
	return i.otherVPCOf(id, func() (string, error) {
		item, exists, err := getOne(client.Optional(ctx), i.cloud, iaas.MachineEndpoint, id,
			func(m machineItem) (machineItem, bool) {
				return m, !m.object().Gone()
			})
		if err != nil || !exists || item.VPC.Identity == i.vpc {
			return "", err
		}
		return item.VPC.Identity, nil
	})
}

// VPCOfSlug is VPCOfMachine for a machine with the slug.
func (i *Inventory) VPCOfSlug(ctx context.Context, slug string) string {
	return i.otherVPCOf(slugKey(slug), func() (string, error) {
		asked := []filters.Filter{&filters.FilterKeyValue{Key: filters.FilterSlug, Value: slug}}
		found, err := client.List(client.Optional(ctx), i.cloud, iaas.MachineEndpoint, asked,
			func(m machineItem) (string, bool) {
				return m.VPC.Identity, m.Slug == slug && m.VPC.Identity != i.vpc && !m.object().Gone()
			})
		if err != nil || len(found) == 0 {
			return "", err
		}
		return found[0], nil
	})
}

func (i *Inventory) otherVPCOf(key string, request func() (string, error)) string {
	vpc, due := i.otherVPCs.get(key)
	if !due {
		return vpc
	}
	if now, err := request(); err == nil {
		i.otherVPCs.put(key, now)
		return now
	}
	return vpc
}
