// Package managed installs the chart's managed profile with two Kubernetes control planes on loopback: the hosting
// part in one, the tenant part in the other. The program is started from the Deployment that the hosting API server
// holds, and has nothing but the kubeconfig of the served cluster.
package managed
