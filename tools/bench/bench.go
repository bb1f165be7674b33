// Package bench runs the repository's benchmarks and holds their figures against the budgets: the table it prints is
// for people, dist/bench.json for programs that keep figures over time.
package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// grace is what the go command gets to end after an interrupt.
const grace = 20 * time.Second

// Packages are the folders with benchmarks, relative to the root.
func Packages() []string {
	return []string{"./src/thalassa/inventory", "./src/thalassa", "./src/ironcore",
		"./src/csi/controller", "./src/emulator"}
}

// Figure is what was measured of one budget.
type Figure struct {
	Name   string  `json:"name"`
	Figure float64 `json:"figure"`
	Unit   string  `json:"unit"`
	Budget float64 `json:"budget"`
	// OK says that the figure is within the budget. One that is measured may still be no reason to fail, see
	// budget.Budget.
	OK bool `json:"ok"`
	// Machine is what it was measured on: "linux/amd64, 2 CPUs, Intel …".
	Machine string `json:"machine"`
}

// Run runs the benchmarks of the packages below root, each for so long ("1s"), or so often ("1x"), or as usual ("").
// With large, it runs also those of the largest clusters. What the go command says goes to out, then a table; the
// figures go to dist/bench.json. The error is that a benchmark fails, that a budget has no figure, or that it is broken
// by more than what busy machines explain.
func Run(ctx context.Context, root, each string, large bool, out io.Writer) error {
	arguments := append([]string{"test", "-run=^$", "-bench=.", "-timeout=1h"}, repo.TestFlags()...)
	if each != "" {
		arguments = append(arguments, "-benchtime="+each)
	}
	command := exec.CommandContext(ctx, "go", append(arguments, Packages()...)...)
	if large {
		command.Env = append(os.Environ(), budget.LargeEnv+"=1")
	}
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = grace
	var output bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = root, io.MultiWriter(out, &output), out
	if err := command.Run(); err != nil {
		return fmt.Errorf("running the benchmarks: %w", err)
	}
	figures, err := Read(&output)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(root, "dist", "bench.json"), figures); err != nil {
		return err
	}
	if err := Print(out, figures); err != nil {
		return err
	}
	return Check(figures, large)
}

// Read finds the figures of budgets in what `go test -bench` says: metrics whose unit is the name of a budget.
func Read(output io.Reader) ([]Figure, error) {
	var figures []Figure
	machine := map[string]string{}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		if key == "goos" || key == "goarch" || key == "cpu" {
			machine[key] = strings.TrimSpace(value)
			continue
		}
		fields := strings.Fields(lines.Text())
		if !strings.HasPrefix(lines.Text(), "Benchmark") {
			continue
		}
		where := fmt.Sprintf("%s/%s, %d CPUs, %s", machine["goos"], machine["goarch"], runtime.NumCPU(), machine["cpu"])
		// The name, how often, and then figures with their units.
		for i := 2; i+1 < len(fields); i += 2 {
			limit, err := budget.Named(fields[i+1])
			if err != nil {
				continue // ns/op and its like have no budget
			}
			figure, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("reading what the benchmarks say: %q is no figure of %s: %w", fields[i],
					limit.Name, err)
			}
			figures = append(figures, Figure{Name: limit.Name, Figure: figure, Unit: limit.Unit, Budget: limit.Limit,
				OK: figure <= limit.Limit, Machine: where})
		}
	}
	return figures, nil
}

// Print writes a table of the figures.
func Print(out io.Writer, figures []Figure) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nbudget\tfigure\tat most\t\t")
	for _, f := range figures {
		verdict := ""
		if !f.OK {
			verdict = "above"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.Name, budget.Format(f.Figure), budget.Format(f.Budget),
			f.Unit, verdict)
	}
	return table.Flush()
}

// Check fails when a budget is broken, or when one that is measured has no figure: of the largest clusters, with large.
func Check(figures []Figure, large bool) error {
	byName := map[string]Figure{}
	for _, f := range figures {
		byName[f.Name] = f
	}
	var broken []string
	for _, b := range budget.All() {
		f, found := byName[b.Name]
		switch {
		case !found && b.Measured && (large || !b.Large):
			broken = append(broken, b.Name+" was not measured")
		case found && !b.Kept(f.Figure):
			broken = append(broken, fmt.Sprintf("%s is %s %s, at most %s", b.Name, budget.Format(f.Figure), b.Unit,
				budget.Format(b.Limit)))
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("budgets are broken, also with %d times the time and memory for a busy machine: %s; look "+
			"for what became dearer with go test -bench -cpuprofile", budget.Slack, strings.Join(broken, "; "))
	}
	return nil
}

func write(path string, figures []Figure) error {
	content, err := json.MarshalIndent(figures, "", "  ")
	if err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing figures: %w", err)
	}
	return nil
}
