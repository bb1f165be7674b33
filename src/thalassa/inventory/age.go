package inventory

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ages tells how old the copies are, when somebody asks.
type ages struct {
	*Inventory
	desc *prometheus.Desc
}

// Collector is the metric of how old each copy is. A copy that nobody needs grows old, too.
func (i *Inventory) Collector() prometheus.Collector {
	return ages{i, prometheus.NewDesc("cloudprovider_thalassa_inventory_age_seconds",
		"Age of the cached list of objects of a kind, in seconds. There is no value before the first list.",
		[]string{"kind"}, nil)}
}

// Describe implements prometheus.Collector.
func (a ages) Describe(descs chan<- *prometheus.Desc) { descs <- a.desc }

// Collect implements prometheus.Collector.
func (a ages) Collect(found chan<- prometheus.Metric) {
	for kind, made := range map[string]time.Time{
		"machine": a.machines.madeAt(), "load balancer": a.balancers.madeAt(), "target group": a.groups.madeAt(),
		"VPC":            a.vpcs.madeAt(),
		"security group": a.securityGroups.kind.madeAt(), "reserved IP": a.reservedIPs.kind.madeAt(),
		"machine type": a.machineTypes.kind.madeAt(),
		"route table":  a.routing.madeAt(),
	} {
		if !made.IsZero() {
			found <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, time.Since(made).Seconds(), kind)
		}
	}
}

// madeAt is when the list began that the copy is made of, whether it is trusted or not; zero: there is none.
func (k *kind[T]) madeAt() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.made
}
