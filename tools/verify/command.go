package verify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// grace is what a command gets to end after an interrupt.
const grace = 10 * time.Second

// alone makes the go command look at one module without the workspace, as users of that module do.
const alone = "GOWORK=off"

// command is one program to run.
type command struct {
	dir  string
	env  []string // added to ours
	args []string // the program and its arguments
}

// run returns what the command wrote to standard output; its error holds everything it wrote.
func (c command) run(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("running %s in %s: %w\n%s%s", strings.Join(c.args, " "), c.dir, err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
