// Package permission lists what the program needs to be permitted in Kubernetes: the rules of the chart's roles, from
// which the list is generated.
//
// Tests compare these rules with the requests of the program, so that the list is neither too long nor too short.
package rbac

import (
	_ "embed" // for the list
	"encoding/json"
	"fmt"
	"slices"
)

// Names of parts of the program that are not controllers of k8s.io/cloud-provider.
const (
	NodeIPAM = "node-ipam-controller"
	// RemoveOrphans is the deletion of load balancers without a Service.
	RemoveOrphans = "removeOrphans"
)

// Permission is one verb for one resource.
type Permission struct {
	// Part is the part of the program that needs it: the name of a controller in --controllers, or RemoveOrphans; ""
	// for the process itself.
	Part string `json:"part,omitempty"`
	// Accounts means that it is for --use-service-account-credentials. Then Account is the service account in
	// kube-system; "" is that of the process.
	Accounts bool   `json:"accounts,omitempty"`
	Account  string `json:"account,omitempty"`
	// Group is "" for the core API. Resource contains the subresource: "nodes/status".
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource"`
	Verb     string `json:"verb"`
	// Namespaced means that it is for the namespace of a configuration; otherwise Namespace is its namespace, and ""
	// all.
	Namespaced bool   `json:"namespaced,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	// Name is the only object that it is for; "" is all.
	Name string `json:"name,omitempty"`
}

// String is "patch nodes/status" or "list endpointslices.discovery.k8s.io".
func (p Permission) String() string {
	text := p.Verb + " " + p.Resource
	if p.Group != "" {
		text += "." + p.Group
	}
	if p.Name != "" {
		text += " " + p.Name
	}
	if p.Namespace != "" {
		text += " in " + p.Namespace
	}
	return text
}

//go:embed permissions.json
var permissions []byte

// Needed returns what the parts need that run. Accounts means --use-service-account-credentials.
func Needed(accounts bool, runs func(part string) bool) ([]Permission, error) {
	all, err := Parse(permissions)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(p Permission) bool {
		return p.Accounts != accounts || p.Part != "" && !runs(p.Part)
	}), nil
}

// Parse reads a generated list.
func Parse(text []byte) ([]Permission, error) {
	var all []Permission
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading the list of permissions: %w", err)
	}
	return all, nil
}
