package document

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
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
curl() { shown command curl --fail --silent --show-error "$@"; }
jq() { command jq --exit-status "$@"; }
grep() { shown command grep "$@"; }
refused() { if "$@"; then echo "this command succeeds: $*" >&2; return 1; fi; }
`

// Shell is a terminal in which somebody follows a document.
type Shell struct {
	// Dir is the working directory, Env the whole environment.
	Dir string
	Env []string
	// Before are commands that come first.
	Before string
}

// Run runs a script with bash and returns what it prints, with each command before its output. A command that fails
// ends it, and so does one whose purpose is to print something and that prints nothing. "refused" before a command
// wants it to fail.
func (s Shell) Run(ctx context.Context, script string) (output string, err error) {
	command := exec.CommandContext(ctx, "bash", "-s")
	command.WaitDelay = time.Second // for what outlives bash
	command.Dir, command.Env = s.Dir, s.Env
	command.Stdin = strings.NewReader(strict + s.Before + "\nset -v\n" + script)
	var all bytes.Buffer
	command.Stdout, command.Stderr = &all, &all
	if err := command.Run(); err != nil {
		return all.String(), fmt.Errorf("running the commands: %w", err)
	}
	return all.String(), nil
}
