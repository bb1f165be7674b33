package inventory

import (
	"context"
	"time"

	"github.com/thalassa-cloud/client-go/quotas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// quotaAge is the maximum age of quotas, and the minimum interval of requests for them, because many writes may exceed
// a quota at the same time.
const quotaAge = time.Minute

// Quota is the maximum number of objects of a kind in an organisation.
type Quota struct {
	Name    string `json:"name"`    // "loadbalancers"
	Service string `json:"service"` // the service of the quota; "" if the cloud does not return it
	Max     int    `json:"maxUsage"`
	Used    int    `json:"currentUsage"`
}

// Quotas returns the organisation's quotas, sorted by service and name, at most a minute old. It causes at most one
// call a minute, also if the call fails.
func (i *Inventory) Quotas(ctx context.Context) ([]Quota, error) {
	return i.quotas.All(ctx, quotaAge)
}

func (i *Inventory) newQuotas() *store.Store[Quota] {
	return store.New("quotas", store.WithFailureTTL(quotaAge, i.listQuotas), func(q Quota) string {
		return q.Service + "/" + q.Name
	}, func(Quota) []string { return nil })
}

func (i *Inventory) listQuotas(ctx context.Context) ([]Quota, error) {
	all, err := client.List(client.Optional(ctx), i.cloud, quotas.QuotasEndpoint, nil,
		func(q Quota) (Quota, bool) { return q, true })
	return all, store.WithPermission(err, "read quotas")
}
