package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// csiVersion is the version of the CSI specification, as the kubelet compares it.
const csiVersion = "1.0.0"

const (
	// registrationInterval is the time between two attempts to be registered.
	registrationInterval = 2 * time.Second
	// infoTimeout bounds the look-up of what the kubelet asks for.
	infoTimeout = 10 * time.Second
)

// registration tells the kubelet where the CSI services are. The kubelet finds its socket in its folder of plug-ins.
// When it does, it asks the driver where the Node is. If that fails, older versions of the kubelet do not try again
// until there is another socket. So the socket is made when the answer is known, and made again after a registration
// that failed.
type registration struct {
	registerapi.UnimplementedRegistrationServer
	name, socket string
	// info returns why the driver cannot tell the kubelet where the Node is.
	info     func(context.Context) error
	interval time.Duration

	mu      sync.Mutex
	problem error              // why the driver is not registered
	repeat  context.CancelFunc // ends the present socket
}

func newRegistration(name, socket string, info func(context.Context) error) *registration {
	return &registration{name: name, socket: socket, info: info, interval: registrationInterval,
		problem: errors.New("the kubelet has not registered the driver yet")}
}

// GetInfo describes the driver to the kubelet.
func (r *registration) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{Type: registerapi.CSIPlugin, Name: r.name, Endpoint: r.socket,
		SupportedVersions: []string{csiVersion}}, nil
}

// NotifyRegistrationStatus is called by the kubelet with the result.
func (r *registration) NotifyRegistrationStatus(_ context.Context,
	status *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {
	if status.GetPluginRegistered() {
		r.set(nil)
		klog.InfoS("Registered with the kubelet", "driver", r.name, "socket", r.socket)
		return &registerapi.RegistrationStatusResponse{}, nil
	}
	err := fmt.Errorf("the kubelet did not register the driver: %s", status.GetError())
	klog.ErrorS(err, "Registration failed; it is tried again")
	r.set(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeat()
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (r *registration) set(problem error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = problem
}

// ready returns nil after the kubelet has registered the driver.
func (r *registration) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problem
}

// await waits until the driver can tell the kubelet where the Node is. It returns false if the context ends before.
func (r *registration) await(ctx context.Context) bool {
	for {
		err := r.lookUp(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil && err.Error() != fmt.Sprint(r.ready()) {
			klog.InfoS("Waiting to be registered with the kubelet", "err", err)
			r.set(err)
		}
		if !r.pause(ctx) {
			return false
		}
	}
}

func (r *registration) lookUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	return r.info(ctx)
}

// pause waits for the next attempt. It returns false if the context ends before.
func (r *registration) pause(ctx context.Context) bool {
	select {
	case <-time.After(r.interval):
		return true
	case <-ctx.Done():
		return false
	}
}

// begin returns the context of a socket, which ends when the kubelet needs another one.
func (r *registration) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeat = end
	return ctx, end
}

// serveRegistration serves the registration on a socket until the context ends.
func (s *services) serveRegistration(ctx context.Context, socket string, r *registration) error {
	if socket == "" {
		<-ctx.Done()
		return nil
	}
	for r.await(ctx) {
		attempt, end := r.begin(ctx)
		err := s.serveSocket(attempt, "unix://"+socket, func(server *grpc.Server) {
			registerapi.RegisterRegistrationServer(server, r)
		})
		end()
		if err != nil {
			return err
		}
		if !r.pause(ctx) {
			return nil
		}
	}
	return nil
}
