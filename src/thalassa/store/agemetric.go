package store

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Ages are the kinds of objects, and the functions that return when the present list of each began; zero: there is
// none.
type Ages map[string]func() time.Time

// ageCollector computes the ages of stores when metrics are collected.
type ageCollector struct {
	ages Ages
	desc *prometheus.Desc
}

// AgeCollector returns the metric of the age of each store. A store that is not used is not refreshed. If a kind occurs
// in several sets, the last one counts.
func AgeCollector(sets ...Ages) prometheus.Collector {
	ages := Ages{}
	for _, set := range sets {
		maps.Copy(ages, set)
	}
	return ageCollector{ages, prometheus.NewDesc("cloudprovider_thalassa_inventory_age_seconds",
		"Age of the cached list of objects of a kind, in seconds. There is no value before the first list.",
		[]string{"kind"}, nil)}
}

// Describe implements prometheus.Collector.
func (a ageCollector) Describe(descs chan<- *prometheus.Desc) { descs <- a.desc }

// Collect implements prometheus.Collector.
func (a ageCollector) Collect(found chan<- prometheus.Metric) {
	for kind, began := range a.ages {
		if made := began(); !made.IsZero() {
			found <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, time.Since(made).Seconds(), kind)
		}
	}
}
