// Package image says what a container image is to a virtual node: something in this process that
// knows how to start a run of a container.
package image

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/container"
	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

// Machine is the node that containers run on.
type Machine struct {
	// Name is the name of the Node object.
	Name string
	// Address is the machine's own loopback address.
	Address netip.Addr
	// APIServerHost and APIServerPort are where pods find the API server.
	APIServerHost string
	APIServerPort int
	Client        kubernetes.Interface
	Fabric        *fabric.Fabric
}

// Launch is one run of a container that is to be started.
type Launch struct {
	Machine Machine
	// Pod returns the pod as it is now, with its addresses in its status.
	Pod       func() *corev1.Pod
	Container *corev1.Container
	// Dir is a directory of the pod.
	Dir string
	// Log is the file for what the container writes.
	Log string
	// Event reports to the owner of the pod what happens.
	Event func(eventType, reason, message string)
}

// Runtime starts runs of one image.
type Runtime interface {
	Start(ctx context.Context, l Launch) (container.Instance, error)
}

// Set is the images that a node has, by name without tag and digest.
type Set map[string]Runtime

// Find returns what runs for an image reference. After an error a container waits.
func (s Set) Find(reference string) (Runtime, error) {
	if r, ok := s[Name(reference)]; ok {
		return r, nil
	}
	known := strings.Join(slices.Sorted(maps.Keys(s)), ", ")
	if known == "" {
		known = "none"
	}
	return nil, &container.WaitError{Reason: container.ReasonImagePull, Err: fmt.Errorf(
		"this virtual node pulls no images and does not have %q; it has: %s", reference, known)}
}

// Name returns an image reference without its tag and digest.
func Name(reference string) string {
	name, _, _ := strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name
}
