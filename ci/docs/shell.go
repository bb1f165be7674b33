package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// strict ends a script at the first command that fails, or that shows nothing although it is there to show something.
const strict = `set -euo pipefail
shown() {
	local output
	output=$("$@") || return
	[[ -n $output ]] || { echo "this command prints nothing: $*" >&2; return 1; }
	printf '%s\n' "$output"
}
kubectl() {
	case $1 in
	describe | events | get | logs) shown command kubectl "$@" ;;
	*) command kubectl "$@" ;;
	esac
}
curl() {
	case " $* " in
	*' --output '*) command curl --fail --silent --show-error "$@" ;;
	*) shown command curl --fail --silent --show-error "$@" ;;
	esac
}
jq() { command jq --exit-status "$@"; }
`

// Shell is a terminal in which somebody follows a document.
type Shell struct {
	// Dir is the working directory, Env the whole environment.
	Dir string
	Env []string
	// Before are commands that come first.
	Before string
}

// Environment is that of an ordinary user with the programs in a folder, and with the caches and settings of the go
// command.
func Environment(tb testing.TB, bin string) []string {
	tb.Helper()
	environment := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + tb.TempDir(), "TMPDIR=" + tb.TempDir()}
	names := []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "CGO_ENABLED"}
	values, err := exec.CommandContext(tb.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		tb.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSuffix(string(values), "\n"), "\n") {
		environment = append(environment, names[i]+"="+value)
	}
	return environment
}

// Run runs a script with bash and returns what its commands print, without their errors, and a log of the commands and
// everything that they print. What is printed and the rest come through two pipes, so neighbouring lines of the log may
// have changed places. A command that fails ends the script, and so does one whose purpose is to print something and
// that prints nothing. Commands have no input.
func (s Shell) Run(ctx context.Context, script string) (printed, log string, err error) {
	file, err := os.CreateTemp("", "commands-*.sh")
	if err != nil {
		return "", "", fmt.Errorf("writing the commands to a file: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(strict + s.Before + "\nset -v\n" + script)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", "", fmt.Errorf("writing the commands to a file: %w", err)
	}
	command := exec.CommandContext(ctx, "bash", file.Name())
	command.WaitDelay = time.Second // for what outlives bash
	command.Dir, command.Env = s.Dir, s.Env
	var only, all bytes.Buffer
	both := &shared{to: &all}
	command.Stdout, command.Stderr = io.MultiWriter(&only, both), both
	if err := command.Run(); err != nil {
		return only.String(), all.String(), fmt.Errorf("running the commands: %w", err)
	}
	return only.String(), all.String(), nil
}

// shared is a writer for both outputs of a command.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
