package inventory

import (
	"context"
	"time"

	"github.com/thalassa-cloud/client-go/quotas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// quotaAge is how old quotas may be, and how often they are asked for at most: many may hit one at the same time.
const quotaAge = time.Minute

// Quota is how many objects of a kind an organisation may have.
type Quota struct {
	Name    string // "loadbalancers"
	Service string // that it belongs to; "" when the cloud does not say
	Max     int
	Used    int
}

// quotaReader reads the quotas, and also remembers that they could not be read.
type quotaReader struct {
	list   func(context.Context) ([]Quota, error)
	tried  time.Time
	failed error
}

// read is called by one at a time.
func (q *quotaReader) read(ctx context.Context) ([]Quota, error) {
	if q.failed != nil && time.Since(q.tried) < quotaAge {
		return nil, q.failed
	}
	found, err := q.list(ctx)
	q.tried, q.failed = time.Now(), err
	return found, err
}

// Quotas returns the organisation's quotas, sorted by service and name, at most a minute old. One call a minute is made
// at most, also when it fails.
func (i *Inventory) Quotas(ctx context.Context) ([]Quota, error) {
	return i.quotas.all(ctx, quotaAge)
}

func (i *Inventory) newQuotas() *kind[Quota] {
	reader := &quotaReader{list: i.listQuotas}
	return newKind("quotas", reader.read, func(q Quota) string {
		return q.Service + "/" + q.Name
	}, func(Quota) []string { return nil })
}

func (i *Inventory) listQuotas(ctx context.Context) ([]Quota, error) {
	all, err := client.List(client.Optional(ctx), i.cloud, quotas.QuotasEndpoint, nil, func(q quotaItem) (Quota, bool) {
		return Quota(q), true
	})
	return all, needing(err, "read quotas")
}

// quotaItem is as much of the API's quota as is needed.
type quotaItem struct {
	Name    string `json:"name"`
	Service string `json:"service"`
	Max     int    `json:"maxUsage"`
	Used    int    `json:"currentUsage"`
}
