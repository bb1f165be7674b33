package monitoring

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	grpcprometheus "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/thalassa-cloud/thalassa-ccm/ci/charttest"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/controller/workerpool/workerpooltest"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/controller"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	csivolume "github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/cloudconfig"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
	"google.golang.org/grpc"
)

// csiRunning is a controller of the CSI driver in virtual time, in front of an emulated cloud. Its metrics are
// recorded.
type csiRunning struct {
	*testing.T
	*recording
	emulator   *emulator.Emulator
	folder     string // of the configuration and the credentials
	registry   *prometheus.Registry
	calls      *grpcprometheus.ServerMetrics
	controller *controller.Controller
	made       int // volumes
}

// recordCSI runs a controller that works well, lets a fault happen, and returns what Prometheus has of it.
func recordCSI(t *testing.T, namespace string, happen func(*csiRunning)) *recording {
	t.Helper()
	r := &csiRunning{recording: newRecording("thalassa-csi-controller-6d5f7c9b84-x7k2p"), folder: t.TempDir()}
	r.namespace, r.container = namespace, "thalassa-csi-driver"
	synctest.Test(t, func(t *testing.T) {
		r.T = t
		made, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed(),
			Middleware: openapitest.Sampled(t)})
		r.must(err)
		defer func() { r.must(made.Close()) }()
		r.emulator = made
		ctx, cancel := context.WithCancel(t.Context())
		r.begin(ctx)
		r.pass(workingTime)
		happen(r)
		r.pass(faultTime)
		r.emulator.ClearFaults()
		cancel()
		workerpooltest.Pass(2 * time.Minute) // what was under way ends
	})
	return r.recording
}

func (r *csiRunning) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// begin makes the controller and its metrics, as the process does.
func (r *csiRunning) begin(ctx context.Context) {
	r.Helper()
	path := filepath.Join(r.folder, "config.yaml")
	writeFile(r.T, path, "organisation: "+emulator.DefaultOrganisationSlug+"\nvpcIdentity: "+emulator.DefaultVPC+
		"\ncluster: k8s-test\nendpoint: http://cloud.test\ncloudCredentials: {directory: \""+r.folder+"\"}\n")
	r.credentials(emulator.DefaultToken)
	from := cloud.Environment{}
	config, secrets, err := cloudconfig.Read(path, from)
	r.must(err)
	api, err := client.ForConfig(config, secrets, "test", r.emulator.Transport())
	r.must(err)
	region := func(context.Context) (string, error) { return emulator.DefaultRegion, nil }
	reloader := client.NewReloader(secrets, func() (secret.Secrets, error) { return config.ReadSecrets(from) },
		func(ctx context.Context, secrets secret.Secrets) error {
			return api.Adopt(ctx, secrets, func(ctx context.Context, candidate *client.Client) error {
				return storage.New(candidate, storage.Cluster{}, region).Probe(ctx)
			})
		}, nil)
	go reloader.Run(ctx)
	volumes := storage.New(api, storage.Cluster{}, region)
	r.controller = controller.New(controller.Options{Storage: volumes, Region: region,
		Owner: csivolume.Owner{Driver: "csi.k8s.thalassa.cloud", Cluster: "k8s-test"}})
	own := driver.Described()
	r.calls, r.registry = own[0].(*grpcprometheus.ServerMetrics), prometheus.NewRegistry()
	up := prometheus.NewGauge(prometheus.GaugeOpts{Name: "up", Help: "Prometheus itself adds it."})
	up.Set(1)
	r.registry.MustRegister(append(slices.Concat(api.Collectors(), reloader.Collectors(), own), up)...)
}

// credentials writes the file with the credentials.
func (r *csiRunning) credentials(token string) {
	r.Helper()
	writeFile(r.T, filepath.Join(r.folder, "personalAccessToken"), token)
}

// pass lets time pass while Prometheus scrapes, and while the sidecar wants another volume every two minutes.
func (r *csiRunning) pass(d time.Duration) {
	r.Helper()
	for at := step; at <= d; at += step {
		workerpooltest.Pass(step)
		r.scrape(r.T, time.Now(), r.registry, prometheus.Gatherers{})
		if at%(2*time.Minute) == 0 {
			r.create()
		}
	}
}

// create sends a request for a volume, which may fail.
func (r *csiRunning) create() {
	r.made++
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	_, _ = r.calls.UnaryServerInterceptor()(ctx, &csi.CreateVolumeRequest{Name: fmt.Sprintf("pvc-%d", r.made),
		CapacityRange: &csi.CapacityRange{RequiredBytes: 1 << 30},
		VolumeCapabilities: []*csi.VolumeCapability{{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER}}},
	}, &grpc.UnaryServerInfo{FullMethod: csi.Controller_CreateVolume_FullMethodName},
		func(ctx context.Context, request any) (any, error) {
			return r.controller.CreateVolume(ctx, request.(*csi.CreateVolumeRequest))
		})
}

// TestCSIAlertsOfRealFaults: each alert about the controller fires because of a fault of the emulated cloud, in the
// metrics that the driver itself has then, and not before. The other two are about processes that have ended.
func TestCSIAlertsOfRealFaults(t *testing.T) {
	inject := func(rule fault.Rule) func(*csiRunning) {
		return func(r *csiRunning) {
			_, err := r.emulator.Inject(rule)
			r.must(err)
		}
	}
	missing := alertingOf(t, charttest.CSI.RuleGroups(t))
	for _, alert := range csiAlertsOfEnds() { // see TestCSIAlertsOfEnds
		delete(missing, alert)
	}
	working := recordCSI(t, "tenant-b", func(*csiRunning) {})
	for name, one := range map[string]struct {
		alerts []string
		happen func(*csiRunning)
	}{
		"no call is answered": {[]string{"ThalassaCSICloudAPIAway"},
			inject(fault.Rule{Operation: "*", Effect: fault.Effect{Kind: fault.Reset}})},
		"half of the calls fail": {[]string{"ThalassaCSICloudAPIErrors"},
			inject(fault.Rule{Operation: "*", Probability: 0.5, Seed: 1,
				Effect: refuse(http.StatusInternalServerError)})},
		"volumes are not created": {[]string{"ThalassaCSICallsFailing"},
			inject(fault.Rule{Operation: "POST /v1/volumes", Effect: refuse(http.StatusInternalServerError)})},
		"the credentials expire": {[]string{"ThalassaCSICloudAPIUnauthorised"},
			inject(fault.Rule{Operation: "*", Effect: fault.Effect{Kind: fault.Unauthorised}})},
		"a quota is used up": {[]string{"ThalassaCSIQuotaReached"}, func(r *csiRunning) {
			r.must(r.emulator.SetQuota("", "volumes", r.made))
		}},
		"new credentials are wrong": {[]string{"ThalassaCSISecretsNotReloaded"}, func(r *csiRunning) {
			r.credentials("wrong")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rules := alertingOf(t, charttest.CSI.RuleGroups(t))
			alertFault{alerts: one.alerts}.wantAlerts(t, rules, recordCSI(t, "thalassa-system", one.happen),
				working)
		})
		for _, alert := range one.alerts {
			delete(missing, alert)
		}
	}
	for alert := range missing {
		t.Errorf("%s has no fault", alert)
	}
}
