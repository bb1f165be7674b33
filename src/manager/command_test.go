package manager

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	cloudprovider "k8s.io/cloud-provider"
	fakecloud "k8s.io/cloud-provider/fake"
	"k8s.io/klog/v2/ktesting"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

var testBuild = build.Info{Version: "v1.2.3", Revision: "0123abc", Committed: "2026-11-21T10:00:00Z"}

// execute runs a command that ends by itself.
func execute(t *testing.T, providers []Provider, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := NewCommand(testBuild, providers...)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// failing is a provider whose configuration is wrong.
func failing(name string, err error) Provider {
	return Provider{Name: name, New: func(context.Context, cloud.Options) (*cloud.Cloud, error) { return nil, err }}
}

// existing is a provider whose configuration is right.
func existing(name string, provided cloudprovider.Interface) Provider {
	return Provider{Name: name, New: func(_ context.Context, o cloud.Options) (*cloud.Cloud, error) {
		return adapter.New(provided, o.ClusterName), nil
	}}
}

// TestCloudFlags: a cloud registers flags of its own, in a section of --help, and they are parsed before it is made.
func TestCloudFlags(t *testing.T) {
	var zone, seen string
	own := failing("first", nil)
	own.Flags = func(flags *pflag.FlagSet) { flags.StringVar(&zone, "first-zone", "a", "Zone of the cloud.") }
	own.New = func(context.Context, cloud.Options) (*cloud.Cloud, error) {
		seen = zone
		return nil, errors.New("stop here")
	}
	_, _, err := execute(t, []Provider{own}, "--cloud-config=x", "--first-zone=b")
	if err == nil || !strings.Contains(err.Error(), "stop here") || seen != "b" {
		t.Errorf("New saw zone %q, error %v", seen, err)
	}
	help, _, err := execute(t, []Provider{own}, "--help")
	if err != nil || !strings.Contains(help, "Cloud first flags:") ||
		!strings.Contains(help, "Zone of the cloud. (default \"a\")") {
		t.Errorf("help %s\nerror %v", help, err)
	}
	own.Flags = func(flags *pflag.FlagSet) { flags.StringVar(&zone, "cluster-name", "a", "Not its own.") }
	_, _, err = execute(t, []Provider{own}, "--cloud-config=x")
	want := `registering flag --cluster-name of cloud first: its name must begin with "first-"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// withoutID is a cloud that does not know its cluster.
type withoutID struct{ *fakecloud.Cloud }

func (withoutID) HasClusterID() bool { return false }

func TestMistakesAreToldInOneLine(t *testing.T) {
	one := []Provider{failing("first", errors.New("region: must not be empty"))}
	two := append(one, failing("second", nil))
	routes := []Provider{existing("first", &fakecloud.Cloud{})}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"+
		"contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		providers []Provider
		args      []string
		want      string
	}{
		"unknown flag": {one, []string{"--cloud-confg=x"},
			"unknown flag: --cloud-confg; cloud-controller-manager --help lists all flags"},
		"a flag of kube-scheduler": {one, []string{"--config=x"},
			"unknown flag: --config: use --cloud-config=FILE for the configuration of the cloud. The rest is set by " +
				"flags; cloud-controller-manager --help lists all flags"},
		"such a flag of validate": {one, []string{"validate", "--config=x"},
			"unknown flag: --config; cloud-controller-manager validate --help lists all flags"},
		"a former flag of logs": {one, []string{"--logtostderr=true"},
			"unknown flag: --logtostderr: remove it: the log goes to the error stream."},
		"a former port": {one, []string{"--port=0"}, "unknown flag: --port: use --secure-port"},
		"bad value": {one, []string{"--kube-api-burst=many"},
			`invalid argument "many" for "--kube-api-burst" flag`},
		"argument": {one, []string{"cloud.yaml"},
			`unexpected argument "cloud.yaml": everything is set by flags, such as --cloud-config=FILE`},
		"no provider, several known": {two, []string{"--cloud-config=x", "--cloud-provider="},
			"missing --cloud-provider: choose one of: first, second"},
		"unknown provider": {two, []string{"--cloud-provider=third", "--cloud-config=x"},
			"unknown --cloud-provider=third: choose one of: first, second"},
		"no configuration": {one, nil,
			"missing --cloud-config: pass the path of the configuration file of first"},
		"wrong configuration": {one, []string{"--cloud-config=cloud.yaml"},
			"reading --cloud-config=cloud.yaml: region: must not be empty"},
		"no cluster ID": {[]Provider{existing("first", withoutID{&fakecloud.Cloud{}})},
			[]string{"--cloud-config=cloud.yaml"},
			"no cluster ID in cloud.yaml"},
		"leader migration": {one, []string{"--cloud-config=x", "--enable-leader-migration"},
			"--enable-leader-migration is not supported"},
		"webhooks": {one, []string{"--cloud-config=x", "--webhooks=*"},
			"--webhooks is not supported"},
		"traces": {one, []string{"--cloud-config=x", "--tracing-endpoint=collector"},
			"--tracing-endpoint: address collector: missing port in address; set HOST:PORT, or http://HOST:PORT"},
		"unknown controller": {one, []string{"--cloud-config=x", "--controllers=services"},
			`"services" is not in the list of known controllers`},
		"no way to Kubernetes": {routes, []string{"--cloud-config=x", "--kubeconfig=does-not-exist"},
			"stat does-not-exist: no such file or directory"},
		"routes without networks": {routes, []string{"--cloud-config=x", "--kubeconfig=" + kubeconfig,
			"--secure-port=0"},
			"checking node-route-controller: missing --cluster-cidr"},
		"no provider at all": {nil, []string{"--cloud-config=x"},
			"this binary serves no cloud"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := execute(t, test.providers, test.args...)
			if err == nil {
				t.Fatal("the command succeeded")
			}
			if lines := strings.Count(stderr, "\n"); lines != 1 || !strings.HasPrefix(stderr, "Error: ") {
				t.Errorf("stderr has %d lines, want one that starts with Error:\n%s", lines, stderr)
			}
			if !strings.Contains(stderr, test.want) {
				t.Errorf("stderr lacks %q:\n%s", test.want, stderr)
			}
			if stdout != "" {
				t.Errorf("stdout is not empty:\n%s", stdout)
			}
		})
	}
}

func TestKubeconfigOfTheSecuredPort(t *testing.T) {
	api := newAPIServer(t)
	r := start(t, api, newTestCloud(), "--authentication-kubeconfig=does-not-exist")
	err := r.wait()
	if err == nil || !strings.Contains(r.stderr.String(), "reading --authentication-kubeconfig=does-not-exist: ") {
		t.Errorf("the command returned %v and said:\n%s", err, &r.stderr)
	}
	if status, _ := r.get("/livez", ""); status != 0 {
		t.Errorf("the port still answers: %d", status)
	}
}

func TestSeveralMistakesInTheConfiguration(t *testing.T) {
	wrong := errors.Join(errors.New("region: must not be empty"),
		errors.New("vpc: unknown key, did you mean vpcIdentity?"))
	_, stderr, err := execute(t, []Provider{failing("first", wrong)}, "--cloud-config=cloud.yaml")
	if err == nil {
		t.Fatal("the command succeeded")
	}
	want := "Error: reading --cloud-config=cloud.yaml:\nregion: must not be empty\nvpc: unknown key, did you mean " +
		"vpcIdentity?\n"
	if stderr != want {
		t.Errorf("stderr:\n%s\nwant:\n%s", stderr, want)
	}
}

func TestVersion(t *testing.T) {
	stdout, stderr, err := execute(t, nil, "--version")
	if err != nil || stderr != "" ||
		stdout != "cloud-controller-manager v1.2.3 (revision 0123abc of 2026-11-21T10:00:00Z)\n" {
		t.Errorf("--version printed %q, %q and returned %v", stdout, stderr, err)
	}
}

func TestHelpIsGrouped(t *testing.T) {
	stdout, _, err := execute(t, nil, "--help")
	if err != nil {
		t.Fatal(err)
	}
	position := 0
	for _, section := range []string{
		"Debugging flags:", "Leader-migration flags:", "Generic flags:", "Cloud-node-controller flags:",
		"Cloud-node-lifecycle-controller flags:", "Service-lb-controller flags:", "Secure serving flags:",
		"Authentication flags:", "Authorization flags:", "Misc flags:", "Node-ipam-controller flags:", "Global flags:",
	} {
		next := strings.Index(stdout[position:], section)
		if next < 0 {
			t.Errorf("--help lacks the section %q, or has it earlier", section)
			continue
		}
		position += next
	}
	if !strings.Contains(stdout, "All controllers: cloud-node-controller, cloud-node-lifecycle-controller, "+
		"node-ipam-controller, node-route-controller, service-lb-controller") {
		t.Error("--help does not list the controllers")
	}
}

// TestHelpSaysWhatIsRefused: --help does not offer what the start refuses.
func TestHelpSaysWhatIsRefused(t *testing.T) {
	help, _, err := execute(t, []Provider{failing("first", nil), failing("second", nil)}, "--help")
	if err != nil {
		t.Fatal(err)
	}
	help = strings.Join(strings.Fields(help), " ")
	for _, want := range []string{
		"--cloud-config string The path of the configuration file of the cloud. Required.",
		`--cloud-provider string The cloud. One of: first, second. (default "first")`,
		"--enable-leader-migration Not supported", "--webhooks strings Not supported",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("--help lacks %q", want)
		}
	}
	if strings.Contains(help, "Empty string for no") {
		t.Error("--help says that a required flag can be empty")
	}
}

func TestUnderscoresInFlags(t *testing.T) {
	_, stderr, err := execute(t, []Provider{failing("first", errors.New("read"))}, "--cloud_config=cloud.yaml")
	if err == nil || !strings.Contains(stderr, "reading --cloud-config=cloud.yaml: read") {
		t.Errorf("--cloud_config is not --cloud-config:\n%s", stderr)
	}
}

func TestFlagsAreLoggedWithoutPasswords(t *testing.T) {
	cmd := NewCommand(testBuild)
	if err := cmd.ParseFlags([]string{"--master=https://me:secret@api.example", "--cluster-name=blue"}); err != nil {
		t.Fatal(err)
	}
	for verbosity, want := range map[int][]string{0: nil, 1: {
		`name="master" value="https://me:xxxxx@api.example"`, `name="cluster-name" value="blue"`}} {
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(verbosity), ktesting.BufferLogs(true)))
		logFlags(logger, cmd.Flags())
		text := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
		if want == nil && text != "" {
			t.Errorf("at -v=%d flags are logged:\n%s", verbosity, text)
		}
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("at -v=%d the log lacks %s:\n%s", verbosity, line, text)
			}
		}
		if strings.Contains(text, "secret") {
			t.Errorf("at -v=%d a password is logged", verbosity)
		}
	}
}
