package emulator_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/command"
)

// strict makes bash end at the first command that fails, and jq fail when the
// field it is asked for is missing.
const strict = `set -euo pipefail
jq() { command jq --exit-status "$@"; }
`

// requestRecorder notes what is answered on the way to a server.
type requestRecorder struct {
	http.Handler
	mu       sync.Mutex
	requests int
	// refused are the answers of 400 and above: method, path and status.
	refused []string
}

func (w *requestRecorder) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	answer := &statusWriter{ResponseWriter: writer}
	w.Handler.ServeHTTP(answer, request)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	if answer.status >= http.StatusBadRequest {
		w.refused = append(w.refused, fmt.Sprintf("%s %s %d", request.Method, request.URL.Path, answer.status))
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets faults take the connection over.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// guides is the folder with the guides.
const guides = "docs/guides"

// documents are those whose commands are executed here, each against an emulator of its own.
func documents() []string {
	return []string{"src/emulator/README.md", guides + "/emulator-ci.md", guides + "/emulator-cli.md",
		guides + "/emulator-faults.md", guides + "/emulator-terraform.md"}
}

// Every guide with commands is executed.
func TestDocumentsAreComplete(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(checkout.Path(t, guides), "emulator-*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("guides %q, %v", files, err)
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		executed := slices.Contains(documents(), guides+"/"+filepath.Base(path))
		if strings.Contains(string(content), "```sh\n") != executed {
			t.Errorf("%s has commands and is not executed, or the other way round", path)
		}
	}
}

// A reader pastes one block after another into one shell, against an emulator
// with the defaults of the command line.
func TestReadmeExamples(t *testing.T) {
	for _, path := range documents() {
		t.Run(filepath.Base(path), func(t *testing.T) { testExamples(t, path) })
	}
}

func testExamples(t *testing.T, path string) {
	t.Helper()
	script := examples(t, path)
	cloud := newEmulator(t, func(cfg *emulator.Config) { cfg.Delays = commandDelays(t) })
	seen := &requestRecorder{Handler: cloud}
	server := httptest.NewServer(seen)
	output, err := runBash(t, strings.Replace(script, defaultEndpoint(t), server.URL, 1))
	// Waits for the handlers, which may end later than their answers arrive.
	server.Close()
	if err != nil {
		t.Errorf("an example failed: %v\n%s", err, output)
	}
	if want := strings.Count(script, "curl "); seen.requests != want {
		t.Errorf("%d requests arrived, %s has %d", seen.requests, path, want)
	}
	if want := announced(script); !slices.Equal(statuses(seen.refused), want) {
		t.Errorf("refused were %q, %s announces %q\n%s", seen.refused, path, want, output)
	}
}

// examples are the blocks of a document as one script.
func examples(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(checkout.Path(t, path))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, part := range strings.Split(string(content), "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		script.WriteString(block)
	}
	if !strings.HasPrefix(script.String(), "URL="+defaultEndpoint(t)+"\n") {
		t.Fatalf("the examples of %s do not begin with URL=%s", path, defaultEndpoint(t))
	}
	return script.String()
}

// defaultEndpoint is where the command serves without flags.
func defaultEndpoint(t *testing.T) string {
	t.Helper()
	address, err := command.New("").Flags().GetString("listen")
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

// commandDelays are those that the command has without flags, of what the
// examples use.
func commandDelays(t *testing.T) emulator.Delays {
	t.Helper()
	flag := func(name string) time.Duration {
		delay, err := command.New("").Flags().GetDuration(name)
		if err != nil {
			t.Fatal(err)
		}
		return delay
	}
	return emulator.Delays{LoadbalancerCreate: flag("lb-create-delay"), LoadbalancerDelete: flag("lb-delete-delay")}
}

// runBash runs a script with the machine's bash, curl and jq, and with nothing
// of the environment that could send it elsewhere, such as a proxy.
func runBash(t *testing.T, script string) (output string, err error) {
	t.Helper()
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the examples of README.md are run with %s: %v; install it, as ci/setup.sh does", program, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-x")
	cmd.WaitDelay = time.Second // for a curl that outlives bash
	cmd.Dir = t.TempDir()
	cmd.Stdin = strings.NewReader(strict + script)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err = cmd.Run()
	return all.String(), err
}

// announced are the statuses that examples say they are refused with, in a
// comment at the end of the line.
func announced(script string) []string {
	var all []string
	for _, match := range regexp.MustCompile(`(?m)^[^#].* # ([45][0-9]{2})$`).FindAllStringSubmatch(script, -1) {
		all = append(all, match[1])
	}
	return all
}

// statuses are the last words.
func statuses(refused []string) []string {
	var all []string
	for _, line := range refused {
		all = append(all, line[strings.LastIndex(line, " ")+1:])
	}
	return all
}
