package plugin

import "errors"

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
