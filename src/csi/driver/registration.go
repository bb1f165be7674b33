package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// csiVersion is the version of the CSI specification, as the kubelet compares it.
const csiVersion = "1.0.0"

// registration tells the kubelet where the CSI services are. The kubelet finds its socket in its directory of plug-ins.
type registration struct {
	registerapi.UnimplementedRegistrationServer
	name, socket string

	mu      sync.Mutex
	problem error
	known   bool // the kubelet has answered
}

// GetInfo describes the driver to the kubelet.
func (r *registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: r.name, Endpoint: r.socket,
		SupportedVersions: []string{csiVersion}}, nil
}

// NotifyRegistrationStatus is called by the kubelet with the result. The kubelet tries again by itself.
func (r *registration) NotifyRegistrationStatus(_ context.Context,
	status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.problem = true, nil
	if !status.GetPluginRegistered() {
		r.problem = fmt.Errorf("the kubelet did not register the driver: %s", status.GetError())
		klog.ErrorS(r.problem, "Registration failed; the kubelet tries again")
	} else {
		klog.InfoS("Registered with the kubelet", "driver", r.name, "socket", r.socket)
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}

// ready returns nil after the kubelet has registered the driver.
func (r *registration) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known {
		return errors.New("the kubelet has not registered the driver yet")
	}
	return r.problem
}

// serveRegistration serves the registration on a socket until the context ends.
func (s *services) serveRegistration(ctx context.Context, socket string, r *registration) error {
	if socket == "" {
		<-ctx.Done()
		return nil
	}
	return s.serveSocket(ctx, "unix://"+socket, func(server *grpc.Server) {
		registerapi.RegisterRegistrationServer(server, r)
	})
}
