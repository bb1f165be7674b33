package inventory

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ageCollector computes the ages of the stores when metrics are collected.
type ageCollector struct {
	*Inventory
	desc *prometheus.Desc
}

// Collector returns the metric of the age of each store. A store that is not used is not refreshed.
func (i *Inventory) Collector() prometheus.Collector {
	return ageCollector{i, prometheus.NewDesc("cloudprovider_thalassa_inventory_age_seconds",
		"Age of the cached list of objects of a kind, in seconds. There is no value before the first list.",
		[]string{"kind"}, nil)}
}

// Describe implements prometheus.Collector.
func (a ageCollector) Describe(descs chan<- *prometheus.Desc) { descs <- a.desc }

// Collect implements prometheus.Collector.
func (a ageCollector) Collect(found chan<- prometheus.Metric) {
	for kind, made := range map[string]time.Time{
		"machine": a.machines.CopyTime(), "load balancer": a.balancers.CopyTime(), "target group": a.groups.CopyTime(),
		"VPC":            a.vpcs.CopyTime(),
		"security group": a.securityGroups.CopyTime(), "reserved IP": a.reservedIPs.CopyTime(),
		"machine type": a.machineTypes.CopyTime(),
		"route table":  a.routing.CopyTime(),
	} {
		if !made.IsZero() {
			found <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, time.Since(made).Seconds(), kind)
		}
	}
}
