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
	// elsewhereAge is how long it is believed where a machine is that is not in this VPC.
	elsewhereAge = 10 * time.Minute
	// elsewhereMemory is how long that is better than nothing.
	elsewhereMemory = time.Hour
	// elsewherePause is between two looks, whatever for: with a wrong vpcIdentity no node has a machine here. A few may
	// follow each other.
	elsewherePause = 10 * time.Second
	elsewhereBurst = 5
)

// elsewhere remembers which machines are in other VPCs.
type elsewhere struct {
	allowance *rate.Limiter
	mu        sync.Mutex
	known     map[string]whereabouts // by key
}

// whereabouts are those of one machine, "" for nowhere.
type whereabouts struct {
	vpc string
	at  time.Time
}

func newElsewhere() *elsewhere {
	return &elsewhere{allowance: rate.NewLimiter(rate.Every(elsewherePause), elsewhereBurst),
		known: map[string]whereabouts{}}
}

// recall is what is known of a key; ask says that it is time to ask.
func (e *elsewhere) recall(key string) (vpc string, ask bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last, known := e.known[key]
	return last.vpc, (!known || time.Since(last.at) > elsewhereAge) && e.allowance.Allow()
}

func (e *elsewhere) note(key, vpc string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.known, func(_ string, w whereabouts) bool { return time.Since(w.at) > elsewhereMemory })
	e.known[key] = whereabouts{vpc, time.Now()}
}

// VPCOfMachine returns the other VPC in which the machine with that identity is, "" if there is none or it is not
// known. It is a hint for people: it is asked for rarely, and an error is no answer.
func (i *Inventory) VPCOfMachine(ctx context.Context, id string) string {
	return i.whereabouts(id, func() (string, error) {
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

// VPCOfSlug is VPCOfMachine for a machine with that slug.
func (i *Inventory) VPCOfSlug(ctx context.Context, slug string) string {
	return i.whereabouts(slugKey(slug), func() (string, error) {
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

func (i *Inventory) whereabouts(key string, ask func() (string, error)) string {
	vpc, due := i.elsewhere.recall(key)
	if !due {
		return vpc
	}
	if now, err := ask(); err == nil {
		i.elsewhere.note(key, now)
		return now
	}
	return vpc
}
