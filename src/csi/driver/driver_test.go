package driver

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/node"
)

// TestMain lets several commands run one after the other: the flags of the log are applied once in a process.
func TestMain(m *testing.M) {
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	os.Exit(m.Run())
}

func noEnvironment(string) string { return "" }

// command returns the command with arguments, without its output.
func command(args ...string) *cobra.Command {
	root := NewCommand(Environment{Build: build.Current(), Getenv: noEnvironment})
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	return root
}

// socketPath returns the path of a socket that does not exist.
func socketPath(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(t.TempDir(), name)
}

// triedSoon tries again soon to connect to a socket that does not exist yet.
func triedSoon() grpc.DialOption {
	soon := backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}
	return grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon, MinConnectTimeout: time.Second})
}

// dial connects to a socket until the test ends.
func dial(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		triedSoon(), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	})
	return connection
}

// freeAddress returns an address of this machine that no program uses.
func freeAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// get returns the status and the body of a page.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// start runs a command until the test ends, or the returned function is called, which returns its error.
func start(t *testing.T, args ...string) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- command(args...).ExecuteContext(ctx) }()
	stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return stop
}

// The node plug-in registers itself with the kubelet, serves the kubelet, and ends when it is told to.
func TestNodePlugin(t *testing.T) {
	registrations, endpoint, address := socketPath(t, "reg.sock"), socketPath(t, "csi.sock"), freeAddress(t)
	stop := start(t, "node", "--node-name=worker-1", "--region=nl-01", "--zone=nl-01a",
		"--csi-endpoint=unix://"+endpoint, "--registration-socket="+registrations,
		"--kubelet-socket=/var/lib/kubelet/plugins/csi.sock", "--http-endpoint="+address)
	plugin := csi.NewNodeClient(dial(t, endpoint))
	info, err := plugin.NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{})
	if err != nil || info.GetNodeId() != "worker-1" || info.GetMaxVolumesPerNode() != DefaultVolumeLimit {
		t.Errorf("%v, %v, want worker-1 with the default limit", info, err)
	}
	kubelet := registerapi.NewRegistrationClient(dial(t, registrations))
	registered, err := kubelet.GetInfo(t.Context(), &registerapi.InfoRequest{})
	if err != nil || registered.GetType() != registerapi.CSIPlugin || registered.GetName() != DefaultName ||
		registered.GetEndpoint() != "/var/lib/kubelet/plugins/csi.sock" {
		t.Errorf("%v, %v, want a CSI plug-in with the socket of the kubelet", registered, err)
	}
	ready := func(wantStatus int, wantText string) {
		t.Helper()
		if code, body := get(t, "http://"+address+"/readyz"); code != wantStatus || !strings.Contains(body, wantText) {
			t.Errorf("/readyz: %d %s, want %d with %q", code, body, wantStatus, wantText)
		}
	}
	ready(http.StatusInternalServerError, "the kubelet has not registered the driver yet")
	for _, result := range []*registerapi.RegistrationStatus{{Error: "no such version"}, {PluginRegistered: true}} {
		if _, err := kubelet.NotifyRegistrationStatus(t.Context(), result); err != nil {
			t.Error(err)
		}
		if result.GetError() != "" {
			ready(http.StatusInternalServerError, "the kubelet did not register the driver: no such version")
		}
	}
	ready(http.StatusOK, "ok")
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(endpoint); !os.IsNotExist(err) {
		t.Errorf("the socket remains: %v", err)
	}
}

func TestWrongFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"controller": {[]string{"controller"}, []string{"--cloud-config is missing"}},
		"no such file": {
			[]string{"controller", "--cloud-config=/no/such/file"}, []string{"flag --cloud-config", "/no/such/file"},
		},
		"node": {
			[]string{"node", "--registration-socket=/reg", "--volume-limit=0", "--volume-limits=a=0",
				"--format-nonzero-within=61m"},
			[]string{
				"--node-name is missing", "--kubelet-socket is missing", "--volume-limit is 0", "a=0: want 1 or more",
				"--format-nonzero-within is 1h1m0s: want 0 to 1h0m0s",
			},
		},
		"endpoint": {
			[]string{"node", "--node-name=a", "--region=r", "--zone=z", "--csi-endpoint=tcp://:1", "--http-endpoint="},
			[]string{`endpoint "tcp://:1": want unix://`},
		},
		"relative endpoint": {
			[]string{"node", "--node-name=a", "--region=r", "--zone=z", "--csi-endpoint=unix://a", "--http-endpoint="},
			[]string{"the absolute path of a socket"},
		},
		"kubeconfig": {
			[]string{"node", "--node-name=a", "--kubeconfig=/no/such/file"}, []string{"set --kubeconfig"},
		},
		"http": {
			[]string{
				"node", "--node-name=a", "--region=r", "--zone=z", "--http-endpoint=nowhere",
				"--csi-endpoint=unix://" + socketPath(t, "csi.sock"),
			},
			[]string{`flag --http-endpoint "nowhere"`},
		},
		"argument": {[]string{"node", "x"}, []string{`unknown command "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			err := command(test.args...).ExecuteContext(t.Context())
			for _, text := range test.want {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v, want %q", err, text)
				}
			}
		})
	}
}

func TestListen(t *testing.T) {
	path := socketPath(t, "csi.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := listen(t.Context(), "unix://"+path)
	if err == nil || !strings.Contains(err.Error(), "is not a socket; remove it") {
		t.Errorf("a file: %v, want an error", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file was removed: %v", err)
	}
	stale := socketPath(t, "csi.sock")
	for range 2 {
		listener, err := listen(t.Context(), "unix://"+stale)
		if err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // as if the process was killed
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(stale); err != nil || info.Mode().Perm() != socketMode {
		t.Errorf("mode %v, %v, want %o", info, err, socketMode)
	}
}

// A request that has begun is finished before the process ends.
func TestGracefulStop(t *testing.T) {
	services, err := newServices(build.Current())
	if err != nil {
		t.Fatal(err)
	}
	socket := socketPath(t, "csi.sock")
	begun, goOn := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- services.serveSocket(ctx, "unix://"+socket, func(s *grpc.Server) {
			csi.RegisterIdentityServer(s, NewIdentity("a", "1", func() error {
				close(begun)
				<-goOn
				return errors.New("not ready")
			}))
		})
	}()
	answered := make(chan error, 1)
	client := csi.NewIdentityClient(dial(t, socket))
	go func() {
		response, err := client.Probe(t.Context(), &csi.ProbeRequest{})
		if err == nil && response.GetReady().GetValue() {
			err = errors.New("it is ready")
		}
		answered <- err
	}()
	<-begun
	cancel()
	close(goOn)
	if err := errors.Join(<-answered, <-ended); err != nil {
		t.Error(err)
	}
}

// TestSocketOfAnotherProcess: the old process of an upgrade replaces the socket. The new one is not healthy, and leaves
// the socket of the other one when it ends.
func TestSocketOfAnotherProcess(t *testing.T) {
	services, err := newServices(build.Current())
	if err != nil {
		t.Fatal(err)
	}
	socket := socketPath(t, "csi.sock")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- services.serveSocket(ctx, "unix://"+socket, func(s *grpc.Server) {
			csi.RegisterIdentityServer(s, NewIdentity("a", "1", nil))
		})
	}()
	if _, err := csi.NewIdentityClient(dial(t, socket)).Probe(t.Context(), &csi.ProbeRequest{},
		grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	if err := services.socketsPresent(); err != nil {
		t.Errorf("its own socket: %v", err)
	}
	other, err := listen(t.Context(), "unix://"+socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := services.socketsPresent(); err == nil || !strings.Contains(err.Error(), "removed or replaced the "+
		"socket") {
		t.Errorf("the socket of another process: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("the socket of the other process was removed: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

func TestDefect15_PlaceAndLimitOfANode(t *testing.T) {
	labels := map[string]string{corev1.LabelTopologyRegion: "nl-01", corev1.LabelTopologyZone: "nl-01a",
		corev1.LabelInstanceTypeStable: "pgp-small"}
	limits := map[string]int64{"pgp-small": 10}
	for name, test := range map[string]struct {
		labels map[string]string
		flags  nodeFlags
		want   node.Place
	}{
		"labels": {labels, nodeFlags{limit: 20}, node.Place{Region: "nl-01", Zone: "nl-01a", Limit: 20}},
		"flags": {
			labels, nodeFlags{region: "r", zone: "z", limit: 20}, node.Place{Region: "r", Zone: "z", Limit: 20},
		},
		"no labels": {nil, nodeFlags{region: "r", limit: 20}, node.Place{Region: "r", Limit: 20}},
		"type": {
			labels, nodeFlags{limit: 20, limits: limits}, node.Place{Region: "nl-01", Zone: "nl-01a", Limit: 10},
		},
		"other type": {nil, nodeFlags{region: "r", limit: 20, limits: limits}, node.Place{Region: "r", Limit: 20}},
	} {
		if got, err := placeOf(test.labels, test.flags); got != test.want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, test.want)
		}
	}
	if _, err := placeOf(nil, nodeFlags{}); err == nil || !strings.Contains(err.Error(), "set the flag --region") {
		t.Errorf("without a region: %v, want an error that names the flag", err)
	}
}

// logged returns what is logged meanwhile.
func logged(t *testing.T, act func()) string {
	t.Helper()
	state := klog.CaptureState()
	defer state.Restore()
	var log bytes.Buffer
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	if err := flags.Set("v", "4"); err != nil {
		t.Fatal(err)
	}
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log), textlogger.Verbosity(4))))
	act()
	return log.String()
}

func TestDefect16_LogsHaveNoContentAndMetricsAreServed(t *testing.T) {
	const secret = "s3cret"
	request := &csi.CreateVolumeRequest{Name: "pvc-1", Parameters: map[string]string{"password": secret},
		Secrets: map[string]string{"key": secret}}
	info := &grpc.UnaryServerInfo{FullMethod: "/csi.v1.Controller/CreateVolume"}
	for _, result := range []error{nil, status.Error(codes.Internal, "the cloud is away")} {
		log := logged(t, func() {
			_, err := logRequests(t.Context(), request, info,
				func(context.Context, any) (any, error) { return nil, result })
			if !errors.Is(err, result) {
				t.Errorf("%v, want %v", err, result)
			}
		})
		want := []string{`method="CreateVolume"`, `name="pvc-1"`}
		if result != nil {
			want = append(want, `code="Internal"`, "the cloud is away")
		}
		missing := slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(log, text) })
		if strings.Contains(log, secret) || missing {
			t.Errorf("log %q, want %q, and no parameters and secrets", log, want)
		}
	}
	endpoint, address := socketPath(t, "csi.sock"), freeAddress(t)
	start(t, "node", "--node-name=a", "--region=r", "--zone=z", "--csi-endpoint=unix://"+endpoint,
		"--http-endpoint="+address)
	connection := dial(t, endpoint)
	if _, err := csi.NewIdentityClient(connection).Probe(t.Context(), &csi.ProbeRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := csi.NewNodeClient(connection).NodeStageVolume(t.Context(), &csi.NodeStageVolumeRequest{}); err == nil {
		t.Error("an empty request is served")
	}
	code, metrics := get(t, "http://"+address+"/metrics")
	for _, series := range []string{`grpc_code="OK",grpc_method="Probe"`,
		`grpc_code="InvalidArgument",grpc_method="NodeStageVolume"`, "grpc_server_handling_seconds_bucket",
		"# TYPE grpc_server_handling_seconds histogram\n", "# TYPE grpc_server_handled_total counter\n",
		"# TYPE grpc_server_started_total counter\n",
		"thalassa_csi_build_info", "process_cpu_seconds_total"} {
		if code != http.StatusOK || !strings.Contains(metrics, series) {
			t.Errorf("/metrics: %d, without %s", code, series)
		}
	}
}

func TestDefect17_NoSecretOnTheCommandLine(t *testing.T) {
	suspicious := regexp.MustCompile(`(?i)token|secret|password|credential|client-id|private`)
	for _, cmd := range command().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if suspicious.MatchString(f.Name) {
				t.Errorf("%s has the flag --%s", cmd.Name(), f.Name)
			}
		})
	}
}
