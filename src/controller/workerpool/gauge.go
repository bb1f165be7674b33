// Package gauge has metrics that are counted when they are collected, so that changes need not be counted.
package workerpool

import "github.com/prometheus/client_golang/prometheus"

// New returns a gauge with one label, whose values and numbers count returns.
func NewGauge(name, help, label string, count func() map[string]int) prometheus.Collector {
	return vector{prometheus.NewDesc(name, help, []string{label}, nil), count}
}

// Total returns a gauge without labels.
func NewTotal(name, help string, count func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		return float64(count())
	})
}

type vector struct {
	desc  *prometheus.Desc
	count func() map[string]int
}

// Describe implements prometheus.Collector.
func (v vector) Describe(descs chan<- *prometheus.Desc) { descs <- v.desc }

// Collect implements prometheus.Collector.
func (v vector) Collect(found chan<- prometheus.Metric) {
	for value, number := range v.count() {
		found <- prometheus.MustNewConstMetric(v.desc, prometheus.GaugeValue, float64(number), value)
	}
}
