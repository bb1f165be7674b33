// Package rollouttest lets Kubernetes replace the chart's pods where the pod before has the host port: on a real API
// server, with the scheduler and the controllers of Kubernetes, and with the program in the pods.
package rollouttest
