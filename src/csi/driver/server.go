package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/readyz"
)

const (
	// socketMode lets the sidecars, which have the same group, use the socket.
	socketMode = 0o660
	// stopTimeout is how long requests may take after the process was told to stop.
	stopTimeout = 10 * time.Second
	// headerTimeout bounds the reading of the header of a request by HTTP.
	headerTimeout = 10 * time.Second
)

// services are what a process serves.
type services struct {
	metrics  *grpcprometheus.ServerMetrics
	registry *prometheus.Registry
	live     *readyz.Checks
	ready    *readyz.Checks
	sockets  sync.Map // of *ownSocket: those that are open
}

// newServices returns services with the metrics of the process and those of the collectors.
func newServices(info build.Info, collect ...prometheus.Collector) (*services, error) {
	s := &services{registry: prometheus.NewRegistry(), live: readyz.New("livez"), ready: readyz.New("readyz"),
		metrics: newServerMetrics()}
	s.live.Add(check("sockets", s.socketsPresent))
	for _, one := range slices.Concat(ownCollectors(s.metrics, info), []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}, collect) {
		if err := s.registry.Register(one); err != nil {
			return nil, fmt.Errorf("registering a metric: %w", err)
		}
	}
	return s, nil
}

func newServerMetrics() *grpcprometheus.ServerMetrics {
	return grpcprometheus.NewServerMetrics(grpcprometheus.WithServerHandlingTimeHistogram(
		grpcprometheus.WithHistogramBuckets([]float64{.01, .05, .1, .5, 1, 2.5, 5, 10, 20, 30, 60})))
}

// ownCollectors are those of both processes that no other program of this project has.
func ownCollectors(metrics *grpcprometheus.ServerMetrics, info build.Info) []prometheus.Collector {
	return []prometheus.Collector{metrics, info.Collector("thalassa_csi")}
}

// Described returns collectors of the metrics of the driver that no other program of this project has, which count
// nothing, for the reference.
func Described() []prometheus.Collector { return ownCollectors(newServerMetrics(), build.Current()) }

// serveSocket serves what register adds on a unix socket, until the context ends.
func (s *services) serveSocket(ctx context.Context, endpoint string, register func(*grpc.Server)) error {
	listener, err := listen(ctx, endpoint)
	if err != nil {
		return err
	}
	own := &ownSocket{name: strings.TrimPrefix(endpoint, "unix://")}
	if own.info, err = os.Lstat(own.name); err != nil {
		return errors.Join(fmt.Errorf("reading the state of the socket: %w", err), listener.Close())
	}
	s.sockets.Store(own, true)
	defer s.close(own)
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(s.metrics.UnaryServerInterceptor(), logRequests))
	register(server)
	s.metrics.InitializeMetrics(server)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	klog.InfoS("Serving", "endpoint", endpoint)
	select {
	case err := <-ended:
		return fmt.Errorf("serving %s: %w", endpoint, err)
	case <-ctx.Done():
	}
	force := time.AfterFunc(stopTimeout, server.Stop)
	defer force.Stop()
	server.GracefulStop()
	return nil
}

// ownSocket is a socket that this process made.
type ownSocket struct {
	name string
	info fs.FileInfo
}

// present reports whether the socket is still the one that this process made.
func (o *ownSocket) present() bool {
	info, err := os.Lstat(o.name)
	return err == nil && os.SameFile(info, o.info)
}

// close removes the socket, unless another process has made one with its name.
func (s *services) close(own *ownSocket) {
	s.sockets.Delete(own)
	if own.present() {
		_ = os.Remove(own.name) // a socket that is left is removed by the next process
	}
}

// socketsPresent returns an error if another process has removed or replaced a socket, so that nobody reaches this
// one. The process is then restarted: an old process that ends late may do this.
func (s *services) socketsPresent() (err error) {
	s.sockets.Range(func(key, _ any) bool {
		if own := key.(*ownSocket); !own.present() {
			err = fmt.Errorf("another process has removed or replaced the socket %s", own.name)
		}
		return err == nil
	})
	return err
}

// listen opens a unix socket. One that a former process left is removed.
func listen(ctx context.Context, endpoint string) (net.Listener, error) {
	name, isUnix := strings.CutPrefix(endpoint, "unix://")
	if !isUnix || !path.IsAbs(name) {
		return nil, fmt.Errorf("endpoint %q: want unix:// and the absolute path of a socket, like unix:///csi/csi.sock",
			endpoint)
	}
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("endpoint %q: %s exists and is not a socket; remove it", endpoint, name)
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing the socket of a former process: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", name)
	if err != nil {
		return nil, fmt.Errorf("opening the socket: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // another process may have made one with its name meanwhile
	if err := os.Chmod(name, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("setting the mode of the socket: %w", err), listener.Close())
	}
	return listener, nil
}

// logRequests logs requests that failed, without their content: they may contain secrets.
func logRequests(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	began := time.Now()
	response, err := handle(ctx, request)
	line := []any{"method", path.Base(info.FullMethod), "duration", time.Since(began).Round(time.Millisecond).String()}
	if named, ok := request.(interface{ GetVolumeId() string }); ok {
		line = append(line, "volume", named.GetVolumeId())
	}
	if named, ok := request.(interface{ GetName() string }); ok {
		line = append(line, "name", named.GetName())
	}
	switch code := status.Code(err); code {
	case codes.OK:
		klog.V(4).InfoS("Request served", line...)
	default:
		klog.InfoS("Request failed", append(line, "code", code.String(), "err", status.Convert(err).Message())...)
	}
	return response, err
}

// serveHTTP serves health and metrics until the context ends. It is plain HTTP without authorization, as that of the
// sidecars in the same pod, which cannot serve anything else: a port that is protected better would protect nothing,
// and needs permissions. No metric contains a secret.
func (s *services) serveHTTP(ctx context.Context, address string) error {
	if address == "" {
		<-ctx.Done()
		return nil
	}
	paths := mux.NewPathRecorderMux(component)
	s.live.Install(paths)
	s.ready.Install(paths)
	paths.Handle("/metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("flag --http-endpoint %q: %w", address, err)
	}
	server := &http.Server{Handler: paths, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	klog.InfoS("Serving health and metrics", "address", listener.Addr().String())
	select {
	case err := <-ended:
		return fmt.Errorf("serving health and metrics: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return server.Shutdown(closing)
}
