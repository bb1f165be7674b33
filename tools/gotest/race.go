package gotest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
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

// Race decides where tests run with the race detector. The setting is "1" for everywhere, "0", or "auto": with it where
// our own concurrency is, if a C compiler works. Where it is required, as in CI, "auto" without a compiler is an error
// instead of a silent loss.
func Race(ctx context.Context, setting string, required bool) (Detector, error) {
	return decide(setting, required, func() error { return compiler(ctx) })
}

// decide holds the decision of Race apart from looking for a compiler.
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

// compiler returns why there is no working C compiler, or that Go has no race detector here.
func compiler(ctx context.Context) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if !slices.Contains([]string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}, platform) {
		return fmt.Errorf("no race detector on %s", platform)
	}
	out, err := exec.CommandContext(ctx, "go", "env", "CC").Output()
	if err != nil {
		return fmt.Errorf("asking for the C compiler: %w", err)
	}
	cc := strings.Fields(string(out))
	if len(cc) == 0 {
		return fmt.Errorf("no C compiler is set")
	}
	return compile(ctx, cc)
}

// compile tries the compiler on what cgo needs: a compiler without the C library's headers is of no use.
func compile(ctx context.Context, cc []string) error {
	cmd := exec.CommandContext(ctx, cc[0], append(cc[1:], "-x", "c", "-fsyntax-only", "-")...)
	cmd.Stdin = strings.NewReader("#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("trying the C compiler %q: %w %s", cc[0], err, firstLine(stderr.String()))
	}
	return nil
}

// firstLine is enough of a compiler's complaint.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
