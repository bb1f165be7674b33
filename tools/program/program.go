// Package program is the shell that the repository's own commands share: they end in good order on Ctrl-C, and say in
// one line why they failed.
//
//	func main() { os.Exit(program.Run("generate", os.Stderr, run)) }
package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Run calls do with a context that an interrupt or SIGTERM ends, and returns the exit code of the process: 0, or 1
// after writing the error to trouble, with the name in front.
func Run(name string, trouble io.Writer, do func(context.Context) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := do(ctx); err != nil {
		_, _ = fmt.Fprintf(trouble, "%s: %v\n", name, err)
		return 1
	}
	return 0
}
