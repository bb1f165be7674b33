package testrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Detector says which packages are tested with the race detector.
type Detector int

const (
	// Nowhere is without it.
	Nowhere Detector = iota
	// Own is with it where our own concurrency is, which is below src; tools and ci drive programs that are built
	// without it.
	Own
	// Everywhere is with it, whatever the package.
	Everywhere
)

// raced is the folder of the packages that Own tests with the race detector.
const raced = "src"

// Race decides where tests run with the race detector. The setting is "1" for everywhere, "0", or "auto": with it
// where our own concurrency is, if a C compiler works. Where it is required, as in CI, "auto" without a compiler is
// an error instead of a silent loss.
func Race(ctx context.Context, setting string, required bool) (Detector, error) {
	return decide(setting, required, func() error { return compiler(ctx) })
}

// decide is the decision of Race, without the search for a compiler.
func decide(setting string, required bool, compiler func() error) (Detector, error) {
	wanted, known := map[string]Detector{"0": Nowhere, "1": Everywhere, "auto": Own}[setting]
	if !known {
		return Nowhere, fmt.Errorf("the race detector is %q: set it to 1, 0 or auto", setting)
	}
	if wanted == Nowhere {
		return Nowhere, nil
	}
	err := compiler()
	if err == nil {
		return wanted, nil
	}
	if required || wanted == Everywhere {
		return Nowhere, fmt.Errorf("testing with the race detector: %w; install gcc and libc headers, or set RACE=0",
			err)
	}
	return Nowhere, nil
}

// compiler returns why the race detector cannot be used. It compiles the package for which Go itself needs a C
// compiler and the C library's headers, as tests do.
func compiler(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-race", "-trimpath", "runtime/cgo")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("trying it: %w\n%s", err, output)
	}
	return nil
}
