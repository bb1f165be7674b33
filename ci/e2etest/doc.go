// Package e2etest proves in a real cluster that the distribution works: real kubelets on the machines of the emulated cloud, the
// image that `make image` makes, installed by the chart, and packets that go through the cloud's load balancers. `make e2e` runs it;
// `make test` does not, because it needs root.
//
// All tests share one cluster. When one fails, dist/e2e has a summary, all logs, and what the API server and the cloud knew in the end.
package e2etest
