package sidecar

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// limit bounds every wait.
const limit = time.Minute

// startScripts starts shell scripts instead of the programs, each with the same text.
func startScripts(t *testing.T, script string, programs ...string) (s *Sidecars, logs string) {
	t.Helper()
	o := Options{Programs: programs, Kubeconfig: "config", Socket: "/socket", LeaderElection: "here",
		Logs: t.TempDir(), Binaries: t.TempDir(), Env: []string{"FEATURE=off"},
		Flags: map[string][]string{Attacher: {"--max-entries=7"}}}
	for _, name := range Names() {
		err := os.WriteFile(filepath.Join(o.Binaries, name), []byte("#!/bin/sh\n"+script), 0o755)
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, o.Logs
}

// logged is no error once a log contains a line.
func logged(path string) func(context.Context) error {
	return func(context.Context) error {
		text, err := os.ReadFile(path)
		if err == nil && !strings.HasSuffix(string(text), "\n") {
			err = fmt.Errorf("it contains %q", text)
		}
		return err
	}
}

// TestStart: programs get their flags, write into logs, and run until Stop.
func TestStart(t *testing.T) {
	tier.NeedFull(t)
	t.Setenv("KUBECONFIG", "other")
	s, logs := startScripts(t, `echo "$0 $* [$KUBECONFIG$FEATURE]"; exec tail -f /dev/null`)
	for name, want := range map[string]string{
		Provisioner: " --csi-address=/socket --timeout=1m --worker-threads=10 --default-fstype=ext4 " +
			"--extra-create-metadata [off]\n",
		Attacher:    " --default-fstype=ext4 --max-entries=7 [off]\n",
		Resizer:     " --workers=10 [off]\n",
		Snapshotter: " --extra-create-metadata --feature-gates=CSIVolumeGroupSnapshot=false [off]\n",
		SnapshotController: " --v=5 --leader-election --leader-election-namespace=here --worker-threads=10 " +
			"--feature-gates=CSIVolumeGroupSnapshot=false [off]\n",
	} {
		controlplanetest.Eventually(t, limit, name+" has written its flags", logged(filepath.Join(logs, name+".log")))
		text, err := os.ReadFile(filepath.Join(logs, name+".log"))
		if err != nil || !strings.Contains(string(text), name+" --kubeconfig=config ") ||
			!strings.HasSuffix(string(text), want) {
			t.Errorf("%s: %v, its log is %q, want the end %q", name, err, text, want)
		}
	}
	if tail := s.Tail(); !strings.Contains(tail, "csi-resizer:\n") || !strings.Contains(tail, "--workers=10") {
		t.Errorf("the ends of the logs are %s", tail)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("after Stop: %v", err)
	}
}

// TestStartSome: only the programs that are named are started.
func TestStartSome(t *testing.T) {
	tier.NeedFull(t)
	s, _ := startScripts(t, "exec tail -f /dev/null", Resizer)
	if len(s.running) != 1 || s.running[0].name != Resizer {
		t.Errorf("these run: %+v, want %s", s.running, Resizer)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestProgramsEnd: the error has the end of the log of each program that has ended, also of one that reports no error.
func TestProgramsEnd(t *testing.T) {
	tier.NeedFull(t)
	s, _ := startScripts(t, `case $0 in
		*/csi-resizer) echo bad flag; exit 2;;
		*/csi-attacher) echo lost the driver; exit 0;;
		*) exec tail -f /dev/null;;
	esac`)
	for _, p := range s.running[1:3] {
		select {
		case <-p.Done():
		case <-time.After(limit):
			t.Fatalf("%s still runs", p.name)
		}
	}
	for _, err := range []error{s.Err(), s.Stop()} {
		if err == nil {
			t.Fatal("there is no error")
		}
		for _, want := range []string{"csi-resizer (pid ", "exited with status 2", "bad flag", "csi-attacher (pid ",
			"ended by itself, without an error", "lost the driver"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error lacks %q: %v", want, err)
			}
		}
		if strings.Contains(err.Error(), Provisioner) {
			t.Errorf("the error is also about a program that runs: %v", err)
		}
	}
}

// TestStartFails: without one of the programs, none of the others is left.
func TestStartFails(t *testing.T) {
	s, err := Start(t.Context(), Options{Binaries: t.TempDir(), Logs: t.TempDir()})
	if err == nil || s != nil || !strings.Contains(err.Error(), "starting csi-provisioner: ") {
		t.Errorf("got %v and error %v, want an error alone", s, err)
	}
}
