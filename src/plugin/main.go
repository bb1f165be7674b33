package plugin

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

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
	cmd := NewCommand(Options{Build: info, Providers: providers("kubectl-thalassa " + info.Agent()), Terminal: screen})
	arguments := args[1:]
	if filepath.Base(args[0]) == CompletionName {
		// kubectl passes what is to be completed, and reads what cobra answers.
		arguments = append([]string{"__complete"}, arguments...)
	}
	cmd.SetArgs(arguments)
	cmd.SilenceErrors = true
	err := cmd.ExecuteContext(ctx)
	code, printed := ExitCode(err)
	if !printed {
		screen.Hint("Error: " + err.Error())
	}
	return code
}
