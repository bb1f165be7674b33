package process_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

func TestTailInError(t *testing.T) {
	tests := []struct {
		name, script string
		want         []string
		unwanted     string
	}{
		{"nothing", "exit 1", []string{"; it wrote nothing"}, "|"},
		{"both streams", "echo out; echo err >&2; exit 1", []string{"\n  | out\n  | err"}, ""},
		{"last lines only", "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i.; done; exit 1",
			[]string{"| line 76.", "| line 100."}, "line 75."},
		{"no final newline", "printf unfinished; exit 1", []string{"\n  | unfinished"}, ""},
		{"endless line", "yes x | head -c 100000 | tr -d '\\n'; exit 1", []string{"| xxx"}, "\n  | \n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := start(t, shell(tt.script)).Wait()
			if err == nil {
				t.Fatal("Wait() = nil, want an error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if tt.unwanted != "" && strings.Contains(err.Error(), tt.unwanted) {
				t.Errorf("the error has %q: %v", tt.unwanted, err)
			}
			if len(err.Error()) > 16<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestLogFileIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, word := range []string{"first", "second"} {
		s := shell("echo " + word + "; exit 1")
		s.LogPath = path
		err := start(t, s).Wait()
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not say where the log is: %v", err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "first\nsecond\n" {
		t.Errorf("the log has %q, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log has mode %v, %v; want 0600", info.Mode(), err)
	}
}

// full is a log that takes nothing, as a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestFullLogDoesNotStopTheChild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	s := shell("yes | head -c 1000000; echo the end")
	s.Log, s.LogPath = full{}, path
	p := start(t, s)
	if err := p.Wait(); err != nil {
		t.Fatalf("Wait() = %v, want nil", err)
	}
	if !strings.HasSuffix(p.Tail(), "\nthe end") {
		t.Errorf("Tail() ends with %q", p.Tail()[max(0, len(p.Tail())-20):])
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != 1000000+int64(len("the end\n")) {
		t.Errorf("the file log is incomplete: %v, %v", info, err)
	}
}

func TestLogIsCompleteWhenDone(t *testing.T) {
	for range 20 {
		var log bytes.Buffer
		s := shell("echo complete")
		s.Log = &log
		<-start(t, s).Done()
		if log.String() != "complete\n" {
			t.Fatalf("got %q when Done was closed", &log)
		}
	}
}

// A descendant that left the group is out of our reach; holding the log open it must not hold
// up Done.
func TestDoneDoesNotWaitForAnEscapedDescendant(t *testing.T) {
	line := newLifeline(t)
	s := self("parent", line.address())
	s.Env = append(s.Env, escapeEnv+"=1")
	p := start(t, s)
	first, second := line.accept(), line.accept()
	if err := p.Stop(limit); err != nil && !errors.Is(err, process.ErrKilled) {
		t.Error(err)
	}
	<-p.Done()
	if stillAlive(first) && stillAlive(second) {
		t.Error("both processes are alive after Done")
	}
}
