package inventory

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/thalassa-cloud/client-go/quotas"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// quotaAge is the maximum age of quotas, and the minimum interval of requests for them, because many writes may exceed
// a quota at the same time.
const quotaAge = time.Minute

// quotaPeriod is the interval between two reads of the quotas for metrics.
const quotaPeriod = time.Hour

// maxQuotas is the maximum number of quotas that have metrics.
const maxQuotas = 100

// Quota is the maximum number of objects of a kind in an organisation.
type Quota struct {
	Name    string `json:"name"`    // "loadbalancers"
	Service string `json:"service"` // the service of the quota; "" if the cloud does not return it
	Max     int    `json:"maxUsage"`
	Used    int    `json:"currentUsage"`
}

// Quotas returns the organisation's quotas, sorted by service and name, at most a minute old. It causes at most one
// call a minute, also if it is refused.
func (i *Inventory) Quotas(ctx context.Context) ([]Quota, error) {
	return i.quotas.All(ctx, quotaAge)
}

func (i *Inventory) newQuotas() *store.Store[Quota] {
	return store.New("quotas", store.WithRefusals(quotaAge, i.listQuotas), func(q Quota) string {
		return q.Service + "/" + q.Name
	}, func(Quota) []string { return nil })
}

func (i *Inventory) listQuotas(ctx context.Context) ([]Quota, error) {
	all, err := client.List(client.Optional(ctx), i.cloud, quotas.QuotasEndpoint, nil,
		func(q Quota) (Quota, bool) { return q, true })
	return all, store.WithPermission(err, "read quotas")
}

// WatchQuotas reads the quotas once an hour until ctx ends, so that their metrics have values. Credentials without the
// permission to read them cause no metrics.
func (i *Inventory) WatchQuotas(ctx context.Context) {
	for {
		if _, err := i.Quotas(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(1).Info("Quotas have no metrics for an hour", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(quotaPeriod):
		}
	}
}

// quotaCollector reads the latest quotas when metrics are collected. It causes no calls.
type quotaCollector struct {
	quotas      *store.Store[Quota]
	used, limit *prometheus.Desc
}

// QuotaCollector returns the metrics of the latest quotas.
func (i *Inventory) QuotaCollector() prometheus.Collector {
	description := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("cloudprovider_thalassa_quota_"+name, help, []string{"service", "quota"}, nil)
	}
	return quotaCollector{i.quotas,
		description("used", "Number of objects that count towards a quota of the organisation, at most an hour old."),
		description("limit", "Maximum number of objects that a quota of the organisation permits.")}
}

// Describe implements prometheus.Collector.
func (q quotaCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- q.used
	descs <- q.limit
}

// Collect implements prometheus.Collector.
func (q quotaCollector) Collect(found chan<- prometheus.Metric) {
	all := q.quotas.Where(func(quota Quota) bool { return quota.Max > 0 })
	for _, one := range all[:min(len(all), maxQuotas)] {
		for desc, value := range map[*prometheus.Desc]int{q.used: one.Used, q.limit: one.Max} {
			found <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), one.Service, one.Name)
		}
	}
}
