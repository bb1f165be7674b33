package command

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// post sends a body with the default token.
func post(t *testing.T, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	if status, answer := do(t, http.DefaultClient, request); status >= 300 {
		t.Fatalf("POST %s: %d %s", url, status, answer)
	}
}

// refused is the error of an emulator that cannot use a state file.
func refused(t *testing.T, path string) error {
	t.Helper()
	return execute(t.Context(), t, &bytes.Buffer{}, &bytes.Buffer{}, "--state="+path, "--listen=127.0.0.1:0")
}

func TestStateOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	first := start(t, "--state="+path, "--machines=2")
	post(t, first.Endpoint+"/v1/loadbalancers", `{"name":"web","subnet":"emulator"}`)
	_, before := get(t, http.DefaultClient, first.Endpoint+"/v1/machines")
	if _, err := first.stop(); err != nil {
		t.Fatal(err)
	}
	// What the state replaces is ignored, even if it does not exist.
	second := start(t, "--state="+path, "--machines=2", "--seed="+path+".none")
	if _, after := get(t, http.DefaultClient, second.Endpoint+"/v1/machines"); after != before {
		t.Errorf("machines %s, before %s", after, before)
	}
	if _, body := get(t, http.DefaultClient, second.Endpoint+"/v1/loadbalancers"); !strings.Contains(body, `"web"`) {
		t.Errorf("load balancers %s, want web", body)
	}
	if err := refused(t, path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second emulator with the file: %v", err)
	}
}

// The state is in the file soon after a change, not only at the end.
func TestStateIsSavedWhileServing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	s := start(t, "--state="+path)
	post(t, s.Endpoint+"/v1/reserved-ips", `{"name":"soon-saved","region":"nl-01"}`)
	waitFor(t, "the change in the file", func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(content), "soon-saved")
	})
}

// What is not wrong with the state is not blamed on its file.
func TestWrongSwitchesAreNotDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.yaml")
	if _, err := start(t, "--state="+path).stop(); err != nil {
		t.Fatal(err)
	}
	err := execute(t.Context(), t, &bytes.Buffer{}, &bytes.Buffer{}, "--state="+path, "--listen=127.0.0.1:0",
		"--updates=never")
	if err == nil || strings.Contains(err.Error(), "move it away") || !strings.Contains(err.Error(), "never") {
		t.Errorf("error %v, want one about --updates only", err)
	}
}

func TestStateThatCannotBeUsed(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "state.yaml")
	const content = "organisations:\n- name: \"\"\n...\n"
	if err := errors.Join(os.WriteFile(damaged, []byte(content), 0o600), os.Chmod(damaged, 0o644)); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(t.TempDir(), "newer.yaml")
	if err := os.WriteFile(newer, []byte("version: 99\n...\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{damaged: "move it away", newer: "its version is 99",
		filepath.Join(damaged, "below"): "a folder that"} {
		if err := refused(t, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--state=%s: %v, want %q", path, err, want)
		}
	}
	if got, err := os.ReadFile(damaged); err != nil || string(got) != content {
		t.Errorf("the damaged file has %q, %v", got, err)
	}
	if info, err := os.Stat(damaged); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the damaged file has mode %v, %v, want that it is unchanged", info.Mode(), err)
	}
}

// The emulator goes on when the state cannot be written, and writes it as soon as it can.
func TestStateIsSavedLater(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--state="+filepath.Join(folder, "state.yaml"))
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	post(t, s.Endpoint+"/v1/reserved-ips", `{"name":"saved-later","region":"nl-01"}`)
	waitFor(t, "an error in the log", func() bool { return strings.Contains(s.log.String(), "was not saved") })
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the change in the file", func() bool {
		content, err := os.ReadFile(filepath.Join(folder, "state.yaml"))
		return err == nil && strings.Contains(string(content), "saved-later")
	})
}

// waitFor waits until something is there.
func waitFor(t *testing.T, what string, there func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(timeLimit); !there(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("there is not %s", what)
		}
	}
}

func TestNothingIsWrittenWithoutState(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	s := start(t)
	post(t, s.Endpoint+"/v1/reserved-ips", `{"name":"a","region":"nl-01"}`)
	if _, err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v, want none", files, err)
	}
}
