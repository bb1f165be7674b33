package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	fakecloud "k8s.io/cloud-provider/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
)

// patience bounds every wait; it is only spent when something is broken.
const patience = 30 * time.Second

// role is the environment variable that makes the test binary be the program,
// with a cloud that drains at once or never.
const role = "CCM_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "program":
		main()
	case "drains":
		os.Exit(run([]manager.Provider{fakeProvider(nil)}))
	case "trusts":
		trusts()
	case "hangs":
		os.Exit(run([]manager.Provider{fakeProvider(make(chan struct{}))}))
	}
}

func fakeProvider(drained chan struct{}) manager.Provider {
	return manager.Provider{Name: "fake", New: func(_ context.Context, options cloud.Options) (*cloud.Cloud, error) {
		offered := adapter.New(&fakecloud.Cloud{DisableRoutes: true}, options.ClusterName)
		offered.Drain = func(ctx context.Context) error { return drain(ctx, drained) }
		return offered, nil
	}}
}

// drain returns when the channel closes, or at once without one.
func drain(ctx context.Context, drained chan struct{}) error {
	if drained == nil {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// program starts the test binary in a role. It is killed with the test.
func program(t *testing.T, as string, args ...string) (cmd *exec.Cmd, output *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // it may have ended by itself
			_ = cmd.Wait()
		}
	})
	return cmd, bufio.NewScanner(pipe)
}

// kubeconfig leads to a port nobody listens on.
func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion": "v1", "kind": "Config", "current-context": "a",
		"clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
		"contexts": [{"name": "a", "context": {"cluster": "a"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func flags(t *testing.T, more ...string) []string {
	t.Helper()
	path := kubeconfig(t)
	return append([]string{"--cloud-config=" + path, "--kubeconfig=" + path, "--secure-port=0", "--leader-elect=false"},
		more...)
}

// until reads the log up to a line.
func until(t *testing.T, log *bufio.Scanner, part string) (lines []string) {
	t.Helper()
	for log.Scan() {
		lines = append(lines, log.Text())
		if strings.Contains(log.Text(), part) {
			return lines
		}
	}
	t.Fatalf("the program ended without %q:\n%s", part, strings.Join(lines, "\n"))
	return nil
}

// exit reads the rest of the log, so that the program can end, and returns its
// exit code: -1 if a signal killed it.
func exit(t *testing.T, cmd *exec.Cmd, log *bufio.Scanner) (code int) {
	t.Helper()
	for log.Scan() { // to its end
	}
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func TestFirstSignalEndsInGoodOrder(t *testing.T) {
	cmd, log := program(t, "drains", flags(t)...)
	until(t, log, "Started controller")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, log, `"Stopped"`)
	if code := exit(t, cmd, log); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	cmd, log := program(t, "hangs", flags(t)...)
	until(t, log, "Started controller")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, log, "Finishing what is under way")
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exit(t, cmd, log); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the second signal took %s", took)
	}
}

func TestLogIsJSON(t *testing.T) {
	cmd, log := program(t, "drains", flags(t, "--logging-format=json", "-v=1")...)
	lines := until(t, log, "Started controller")
	var messages []string
	for _, line := range lines {
		var entry struct{ Msg, Version, Name, Value string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("not JSON: %s", line)
		}
		messages = append(messages, strings.Join([]string{entry.Msg, entry.Version, entry.Name, entry.Value}, " "))
	}
	for _, want := range []string{"Starting devel", "Flag  leader-elect false"} {
		if !strings.Contains(strings.Join(messages, "\n"), want) {
			t.Errorf("the log lacks %q:\n%s", want, strings.Join(messages, "\n"))
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit(t, cmd, log)
}

func TestMistakesExitWithOne(t *testing.T) {
	cmd, log := program(t, "program", "--no-such-flag")
	if !log.Scan() || !strings.HasPrefix(log.Text(), "Error: unknown flag: --no-such-flag") {
		t.Errorf("the program said %q", log.Text())
	}
	if code := exit(t, cmd, log); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		config string
		args   []string
		code   int
		want   string
	}{
		"good": {"organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\ncloudCredentials: {personalAccessToken: t}\n",
			nil, 0,
			"# FILE is a good configuration of thalassacloud\n"},
		"bad": {"organisation: acme\nvpcIdentty: vpc-1\ncluster: 'k8s 1'\ncloudCredentials: {directory: " +
			"/does/not/exist}\n", nil, 1,
			"FILE: vpcIdentty: unknown key in line 2; did you mean \"vpcIdentity\"?\n" +
				"FILE: cluster: found text with a blank or a line end in it, want an identity of this cluster, " +
				"unique in the organisation, like \"k8s-…\": at most 63 letters, digits and - _ .\n" +
				"FILE: cloudCredentials.directory: found /does/not/exist, want a directory that can be read: no such " +
				"file or directory\n" +
				"FILE: vpcIdentity: missing: want the identity of the VPC that contains the cluster's machines, like " +
				"\"vpc-…\", of letters, digits and - _ .\n"},
		"without files": {"organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\ncloudCredentials: {directory: " +
			"/does/not/exist}\n", []string{"--without-files"}, 0,
			"# FILE is a good configuration of thalassacloud\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cloud-config.yaml")
			if err := os.WriteFile(path, []byte(test.config), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd, output := program(t, "program", append([]string{"validate", path}, test.args...)...)
			var said strings.Builder
			for output.Scan() {
				said.WriteString(output.Text() + "\n")
			}
			if want := strings.ReplaceAll(test.want, "FILE", path); said.String() != want {
				t.Errorf("the program said\n%swant\n%s", &said, want)
			}
			if code := exit(t, cmd, output); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
		})
	}
}

// TestMistakesInTheConfigurationAreToldAtOnce is the start with a file that is wrong.
func TestMistakesInTheConfigurationAreToldAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cloud-config.yaml")
	if err := os.WriteFile(path,
		[]byte("organisation: acme\nvpcIdentity: v\ncluster: c\nendpoint: x\ncloudCredentials: {}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	cmd, output := program(t, "program", "--cloud-config="+path)
	var lines []string
	for output.Scan() {
		lines = append(lines, output.Text())
	}
	if len(lines) != 4 || lines[0] != "Error: reading --cloud-config="+path+":" || lines[1] != "2 problems:" ||
		!strings.HasPrefix(lines[2], "  * endpoint: ") || !strings.HasPrefix(lines[3], "  * cloudCredentials: ") {
		t.Errorf("the program said\n%s", strings.Join(lines, "\n"))
	}
	if code := exit(t, cmd, output); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

func TestHelpExitsWithZero(t *testing.T) {
	cmd, log := program(t, "program", "--help")
	until(t, log, "--cloud-config string")
	if code := exit(t, cmd, log); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// trusts says how many CAs the program trusts.
func trusts() {
	roots, err := x509.SystemCertPool()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(roots.Subjects())) //nolint:staticcheck // deprecated for what it leaves out on other systems
}

// TestTrustsPublicCAs: an image from scratch has no CA certificates.
func TestTrustsPublicCAs(t *testing.T) {
	program := exec.CommandContext(t.Context(), os.Args[0])
	program.Env = append(os.Environ(), role+"=trusts", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
	output, err := program.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if number, err := strconv.Atoi(strings.TrimSpace(string(output))); err != nil || number < 100 {
		t.Errorf("without CAs of the system it trusts %s; want the public ones", output)
	}
}

// TestTheCloudSeesWhichBuildThisIs: what the program was built from goes all the way from main into every request.
func TestTheCloudSeesWhichBuildThisIs(t *testing.T) {
	agents := make(chan string, 1)
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case agents <- r.UserAgent():
		default:
		}
		http.Error(w, "{}", http.StatusUnauthorized)
	}))
	defer cloud.Close()
	config := filepath.Join(t.TempDir(), "cloud-config.yaml")
	text := "organisation: acme\nvpcIdentity: vpc-1\ncluster: k8s-1\nendpoint: " + cloud.URL +
		"\ncloudCredentials: {personalAccessToken: t}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close() // for the program
	_, port, _ := net.SplitHostPort(address)
	_, log := program(t, "program", "--cloud-config="+config, "--kubeconfig="+kubeconfig(t), "--leader-elect=false",
		"--secure-port="+port, "--bind-address=127.0.0.1", "--authentication-skip-lookup=true")
	until(t, log, "Serving securely")
	go func() {
		for log.Scan() { // so that the program can go on writing
		}
	}()
	trusting := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the program signs its certificate itself
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: trusting}}
	answer, err := insecure.Get("https://" + address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	select {
	case got := <-agents:
		if want := "cloud-provider-thalassa/devel (unknown; unknown)"; got != want {
			t.Errorf("the cloud sees %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Error("the cloud sees nothing")
	}
}
