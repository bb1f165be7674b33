package plugin

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

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
