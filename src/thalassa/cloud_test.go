package thalassa

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// required is the shortest cloud-config file that works.
const required = "organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\ncloudCredentials: {personalAccessToken: " +
	"s3cret}\n"

// directoryWith makes a directory with files.
func directoryWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fileWith writes a cloud-config and returns its path.
func fileWith(t *testing.T, text string) string {
	t.Helper()
	return filepath.Join(directoryWith(t, map[string]string{"cloud-config.yaml": text}), "cloud-config.yaml")
}

func TestNewReadsTheFileAndCallsNobody(t *testing.T) {
	// Nobody listens there: making the cloud must not notice.
	path := fileWith(t, required+"endpoint: http://127.0.0.1:1\n")
	made, err := New("v1")(t.Context(), cloud.Options{ConfigFile: path})
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "thalassacloud" || made.Untagged || made.LoadBalancers == nil || made.Machines == nil {
		t.Errorf("name %q, untagged %v, load balancers %v, machines %v", made.Name, made.Untagged, made.LoadBalancers,
			made.Machines)
	}
	if _, err := New("v1")(t.Context(), cloud.Options{ConfigFile: path + ".missing"}); err == nil {
		t.Error("a file that does not exist is accepted")
	}
}

// emulated starts an emulator behind HTTP and returns a cloud-config for it, without credentials.
func emulated(t *testing.T) (*emulator.Emulator, string) {
	t.Helper()
	l := newLab(t, emulator.Config{}).overHTTP()
	return l.emulator, "organisation: " + emulator.DefaultOrganisation + "\nvpcIdentity: " + emulator.DefaultVPC +
		"\ncluster: k8s-1\nendpoint: " + l.config.Endpoint + "\n"
}

// TestNewFollowsTheFiles: a token that is replaced in its file is used by the running process.
func TestNewFollowsTheFiles(t *testing.T) {
	_, text := emulated(t)
	directory := directoryWith(t, map[string]string{"personalAccessToken": "revoked"})
	ctx, cancel := context.WithCancel(t.Context())
	made, err := read(ctx, "v1", cloud.Options{
		ConfigFile: fileWith(t, text+"cloudCredentials: {directory: "+directory+"}\n")})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // this test looks at the files itself
	if err := made.inventory.Probe(t.Context()); !errors.Is(err, client.ErrUnauthorised) {
		t.Fatalf("a call with a token that is revoked: %v", err)
	}
	if err := os.WriteFile(filepath.Join(directory, "personalAccessToken"), []byte(emulator.DefaultToken+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	made.reloader.Poll(t.Context())
	if err := made.inventory.Probe(t.Context()); err != nil {
		t.Errorf("a call with the new token: %v", err)
	}
}

// TestNewExchangesTokens: nothing but what the platform's webhook and the kubelet bring into a pod.
func TestNewExchangesTokens(t *testing.T) {
	issuer, text := emulated(t)
	subject, err := issuer.SubjectToken("", "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(directoryWith(t, map[string]string{"token": subject}), "token")
	environment := map[string]string{"THALASSA_SERVICE_ACCOUNT_ID": emulator.DefaultServiceAccount,
		"THALASSA_SUBJECT_TOKEN_FILE": token}
	getenv := func(name string) string { return environment[name] }
	made, err := read(t.Context(), "v1", cloud.Options{ConfigFile: fileWith(t, text),
		Environment: cloud.Environment{Variable: getenv}})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.inventory.Probe(t.Context()); err != nil {
		t.Errorf("a call with an exchanged token: %v", err)
	}
}

func TestSwitchedOff(t *testing.T) {
	l := newLab(t, emulator.Config{})
	l.config.LoadBalancer.Enabled, l.config.InstancesV2.Enabled = false, false
	l.restart()
	offered := l.cloud.Offer()
	if offered.LoadBalancers != nil || offered.Machines != nil || offered.Routes != nil {
		t.Errorf("the cloud offers %+v; want no load balancers, machines or routes", offered)
	}
}

func TestReadyFollowsTheCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		ready := func(want string) {
			t.Helper()
			// The first answer may be old; it causes the next one.
			_ = l.cloud.Ready()
			<-time.After(client.ProbeInterval) // with all its attempts
			err := l.cloud.Ready()
			defer func() { <-time.After(client.ProbeInterval) }()
			if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
				t.Errorf("Ready() = %v, want %q", err, want)
			}
		}
		if err := l.cloud.Ready(); !errors.Is(err, client.ErrNoAnswerYet) {
			t.Errorf("Ready() before the first call = %v, want %v", err, client.ErrNoAnswerYet)
		}
		ready("")

		good := l.network
		l.network = &failing{next: good, writes: -1}
		l.restart()
		ready("the process is dead; check endpoint in the cloud-config")

		l.network, l.config.VPCIdentity = good, "vpc-unknown"
		l.restart()
		ready("GET /v1/vpcs/vpc-unknown: not found")
	})
}

// clients hands out a fake cluster.
type clients struct {
	kubernetes.Interface
	err error
}

func (c clients) Config(string) (*rest.Config, error)         { return nil, c.err }
func (c clients) ConfigOrDie(string) *rest.Config             { return nil }
func (c clients) Client(string) (kubernetes.Interface, error) { return c.Interface, c.err }
func (c clients) ClientOrDie(string) kubernetes.Interface     { return c.Interface }

// TestDrainDuringASlowWrite: the write that was sent is finished and its plan goes no further; the next process
// finishes it.
func TestDrainDuringASlowWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, emulator.Config{})
		l.config.API.CallTimeout = 600
		l.restart()
		nodes := l.nodes("a")
		rule, err := l.emulator.Inject(fault.Rule{Operation: "POST /v1/loadbalancer-target-groups",
			Effect: fault.Effect{Kind: fault.Latency, Delay: 9 * time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := l.ensure(service("web", 80), nodes)
			ended <- err
		}()
		<-time.After(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), l.cloud.Offer().DrainTimeout)
		defer cancel()
		if err := l.cloud.Drain(ctx); err != nil {
			t.Errorf("Drain = %v", err)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "shutting down") {
			t.Errorf("the sync ends with %v, want a refusal", err)
		}
		if writes := l.writes(); len(writes) != 1 {
			t.Errorf("writes %v, want the one that was sent", writes)
		}
		l.emulator.ClearFaults(rule)
		l.restart()
		l.settle(service("web", 80), nodes)
		if groups := l.list("/v1/loadbalancer-target-groups"); len(groups) != 1 {
			t.Errorf("%d target groups, want the one that was made while draining", len(groups))
		}
	})
}
