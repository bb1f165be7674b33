package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// IsName reports whether an executable with that path is started as the plug-in.
func IsName(path string) bool {
	name := filepath.Base(path)
	return name == Name || name == CompletionName
}

// Main runs the plug-in with the arguments of the process, and returns its exit code. Providers makes the clouds from
// the user agent. An interrupt ends the command; a second one ends the process at once.
func Main(args []string, providers func(agent string) []manager.Provider) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	info := build.Current()
	screen := terminal.New(os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	arguments := args[1:]
	if filepath.Base(args[0]) == CompletionName {
		// kubectl passes what is to be completed, and reads what cobra answers.
		arguments = append([]string{"__complete"}, arguments...)
	}
	err := Execute(ctx, Options{Build: info, Providers: providers("kubectl-thalassa " + info.Agent()),
		Terminal: screen}, arguments)
	code, printed := ExitCode(err)
	if !printed {
		screen.Hint("Error: " + err.Error())
	}
	return code
}

// Execute runs the plug-in with arguments. ExitCode returns the code that its error ends with. An output that cannot be
// written to ends the command with an error, whatever it found.
func Execute(ctx context.Context, o Options, arguments []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &output{to: o.Terminal.Out, stop: stop}
	o.Terminal.Out = out
	cmd := newCommand(o)
	cmd.SetArgs(arguments)
	err := explain(cmd.ExecuteContext(ctx))
	if out.err != nil {
		return fmt.Errorf("writing the result: %w", out.err)
	}
	return err
}

// output remembers the first error of a writer, and ends the command.
type output struct {
	to   io.Writer
	stop context.CancelCauseFunc
	err  error
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.to.Write(text)
	if err != nil && o.err == nil {
		o.err = err
		o.stop(err)
	}
	return n, err
}

// Exit codes of the commands.
const (
	exitProblems = 1 // the command found problems, or failed
	exitChanges  = 2 // with --exit-code, the plan is not empty
	exitUnknown  = 3 // the configuration of the cloud controller manager is not known, so that little was checked
)

// exitError ends a command with an exit code, after everything was printed.
type exitError int

// Error is not printed.
func (exitError) Error() string { return "the result was printed" }

// ExitCode returns the exit code for the error of the command, and whether the error was printed already.
func ExitCode(err error) (code int, printed bool) {
	if err == nil {
		return 0, true
	}
	if found, ok := errors.AsType[exitError](err); ok {
		return int(found), true
	}
	return exitProblems, false
}

// logIn is the next step if a server does not accept credentials.
const logIn = "log in to the cluster again, or choose another user with --context or --user. If the cloud refuses " +
	"its credentials, check them in the configuration"

// explain adds the next step to the error of a server whose text is only one word.
func explain(err error) error {
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: the server does not accept the credentials: %s", err, logIn)
	}
	return err
}
