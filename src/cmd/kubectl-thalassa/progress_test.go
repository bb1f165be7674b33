package main

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// errorOutput is what a command writes beside its result. It can be read while the command runs.
type errorOutput struct {
	access sync.Mutex
	text   strings.Builder
}

// Write implements io.Writer.
func (e *errorOutput) Write(text []byte) (int, error) {
	e.access.Lock()
	defer e.access.Unlock()
	return e.text.Write(text)
}

// String is everything that was written.
func (e *errorOutput) String() string {
	e.access.Lock()
	defer e.access.Unlock()
	return e.text.String()
}

func (e *errorOutput) clear() {
	e.access.Lock()
	defer e.access.Unlock()
	e.text.Reset()
}

// clearLine removes the line on which the cursor of a terminal is.
const clearLine = "\r\x1b[K"

// lastLine is what a terminal shows in the line of the cursor.
func (e *errorOutput) lastLine() string {
	pieces := strings.Split(strings.ReplaceAll(e.String(), "\n", clearLine), clearLine)
	return pieces[len(pieces)-1]
}

// TestProgress: whenever the cloud is called, however long its answer takes, a terminal shows what the command does, on
// one line that is gone afterwards. Without a terminal, or in a format for programs, nothing is shown.
func TestProgress(t *testing.T) {
	t.Run("thalassa", func(t *testing.T) { newOrphanRig(t).testProgress() })
	t.Run("ironcore", func(t *testing.T) {
		r := newIronRig(t)
		for _, name := range []string{"a", "b", "old"} {
			r.addService(name)
		}
		r.reconcile()
		r.deleteService("old")
		r.testProgress()
	})
}

func (r *rig) testProgress() {
	r.Helper()
	person := terminal.Terminal{Interactive: true, Steps: true, Width: 80}
	for _, command := range []string{"doctor", "nodes", "plan", "orphans", "top --once", "migrate"} {
		r.screen = terminal.Terminal{Width: 80}
		want(r, command+" without a terminal: the error output", r.run(strings.Fields(command)...).err, "")
		r.screen = person
		for _, format := range []string{"json", "yaml", "name"} {
			got := r.run(append(strings.Fields(command), "-o", format)...)
			want(r, command+" -o "+format+": the error output", got.err, "")
		}
		r.wantProgress(command)
	}
	r.wantProgress("orphans delete --all --yes")
}

// wantProgress checks that a command shows progress whenever the cloud is called, and removes it.
func (r *rig) wantProgress(command string) {
	r.Helper()
	var access sync.Mutex
	calls, silent := 0, []string{}
	called := func(request *http.Request) {
		access.Lock()
		defer access.Unlock()
		if query := request.URL.Query(); query.Has("watch") && !query.Has("sendInitialEvents") {
			return // the command does not wait for changes
		}
		if calls++; r.errs.lastLine() == "" {
			silent = append(silent, request.Method+" "+request.URL.String())
		}
	}
	r.onCall.Store(&called)
	got := r.run(strings.Fields(command)...)
	r.onCall.Store(nil)
	access.Lock()
	defer access.Unlock()
	if calls == 0 || len(silent) > 0 {
		r.Errorf("%s calls the cloud %d times, and shows nothing in %q:\n%q", command, calls, silent, got.err)
	}
	want(r, command+" shows progress with the result", strings.Contains(got.out, "\r"), false)
	want(r, command+": what remains of the progress", r.errs.lastLine(), "")
	for step := range strings.SplitSeq(got.err, clearLine) {
		wantWidth(r, step, r.screen.Width)
	}
}
