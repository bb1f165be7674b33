// Package traces proves with a real collector what the program sends about its work: the program serves a Service
// of a real API server in each cloud, and the trace of that contains all requests and no secret.
package traces
