package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	gobuild "go/build"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/command"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// asMain makes the test binary behave like the command.
const asMain = "TEST_AS_THALASSA_EMULATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func rerun(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	return cmd
}

func TestSignalsStopIt(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			ready := filepath.Join(t.TempDir(), "ready")
			cmd := rerun(t, "--listen=127.0.0.1:0", "--ready-file="+ready)
			var output bytes.Buffer
			cmd.Stdout = &output
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the ready file", func() bool { return exists(ready) })
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil || !strings.Contains(output.String(), "Stopped.") {
				t.Errorf("ended with %v and output %q", err, output.String())
			}
		})
	}
}

// waitFor waits until something is there.
func waitFor(t *testing.T, what string, there func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(20 * time.Second); !there(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("there is not %s", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// An emulator that is killed while it writes its state leaves the state before or after the write.
func TestKilledWhileItWritesItsState(t *testing.T) {
	folder := t.TempDir()
	state := filepath.Join(folder, "state.yaml")
	machines := tier.Pick(300, 1000) // as many as make a write take a while
	cmd, endpoint := serving(t, folder, "--state="+state, fmt.Sprint("--machines=", machines))
	reserve(t, endpoint, "first-ip")
	waitFor(t, "the first change in the file", func() bool { return contains(t, state, "first-ip") })
	names := []string{"first-ip"}
	for writing := false; !writing; { // where a write is over in a moment, it may take some until one is seen
		name, before := fmt.Sprintf("ip-%03d", len(names)), written(t, state)
		reserve(t, endpoint, name)
		waitFor(t, "a write", func() bool {
			writing = exists(state + ".new")
			return writing || written(t, state) != before
		})
		names = append(names, name)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended before it was killed")
	}
	before, err := os.ReadFile(state)
	if err != nil || !strings.HasSuffix(string(before), "\n...\n") || !strings.Contains(string(before), "first-ip") {
		t.Fatalf("the file was cut off or lost the first change: %v", err)
	}
	_, endpoint = serving(t, folder, "--state="+state)
	if got := strings.Count(call(t, http.MethodGet, endpoint+"/v1/machines", ""), `"identity":"vm-`); got != machines {
		t.Errorf("there are %d machines, want %d", got, machines)
	}
	ips := call(t, http.MethodGet, endpoint+"/v1/reserved-ips", "")
	for _, name := range names {
		if strings.Contains(ips, name) != strings.Contains(string(before), name) {
			t.Errorf("reserved IPs %s, want those of the file", ips)
		}
	}
	if exists(state + ".new") {
		t.Error("the unfinished file was left")
	}
}

// serving starts the command, and returns its endpoint. It is killed at the end of the test.
func serving(t *testing.T, folder string, args ...string) (cmd *exec.Cmd, endpoint string) {
	t.Helper()
	ready := filepath.Join(folder, "ready")
	if err := os.RemoveAll(ready); err != nil {
		t.Fatal(err)
	}
	cmd = rerun(t, append(args, "--listen=127.0.0.1:0", "--ready-file="+ready)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	waitFor(t, "the ready file", func() bool { return exists(ready) })
	content, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	var said command.Ready
	if err := json.Unmarshal(content, &said); err != nil {
		t.Fatal(err)
	}
	return cmd, said.Endpoint
}

// written is when a file was written.
func written(t *testing.T, path string) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

func contains(t *testing.T, path, text string) bool {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(content), text)
}

func reserve(t *testing.T, endpoint, name string) {
	t.Helper()
	call(t, http.MethodPost, endpoint+"/v1/reserved-ips", `{"region":"nl-01","name":"`+name+`"}`)
}

// call sends a request with the default token, and returns the body of the answer.
func call(t *testing.T, method, url, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s %v", method, url, answer.StatusCode, content, err)
	}
	return string(content)
}

func TestErrorsEndIt(t *testing.T) {
	output, err := rerun(t, "--data-plane=x").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "use none, loopback or netns") {
		t.Errorf("ended with %v and output %q, want an error", err, output)
	}
}

func TestVersion(t *testing.T) {
	output, err := rerun(t, "--version").CombinedOutput()
	if want := "thalassa-emulator " + (build{}).String() + "\n"; err != nil || string(output) != want {
		t.Errorf("--version printed %q and ended with %v, want %q", output, err, want)
	}
}

func TestBuild(t *testing.T) {
	tests := map[string]struct {
		build build
		want  string
	}{
		"linker sets all": {build{"v1.2.3", "0123abc", "2026-11-21T10:00:00Z"},
			"v1.2.3 (revision 0123abc of 2026-11-21T10:00:00Z)"},
		"linker sets version": {build{version: "v1.2.3"}, "v1.2.3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.build.String(); got != tt.want {
				t.Errorf("String() = %q, want %q", got, tt.want)
			}
		})
	}
	if got := (build{}).String(); got == "" {
		t.Error("a build without linker flags has an empty version")
	}
}

// An image has no time zones of its own, and a machine that runs tests usually has.
func TestTimeZonesAreInTheProgram(t *testing.T) {
	program, err := gobuild.ImportDir(".", 0)
	if err != nil || !slices.Contains(program.Imports, "time/tzdata") {
		t.Errorf("the program imports %q, %v; want time/tzdata", program.Imports, err)
	}
}
