// Package monitoring proves with Prometheus' own library what the charts bring for monitoring: the alerts fire
// because of real faults of the cloud and the cluster, and not otherwise, the recorded rates are those of each
// release, and every panel of the dashboards has data. The metrics are those of the programs themselves, which run in
// virtual time.
package monitoring
