package bench_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
	"github.com/thalassa-cloud/thalassa-ccm/tools/bench"
)

const output = `goos: linux
goarch: amd64
pkg: example.com/x
cpu: Some Processor @ 2.80GHz
BenchmarkServices/1000x1000-2 1   1179867774 ns/op    0.01058 first-address    22.45 heap    0.2614 pass-cpu
BenchmarkOther-2           100        12345 ns/op
PASS
`

func TestRead(t *testing.T) {
	figures, err := bench.Read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range figures {
		got = append(got, fmt.Sprintf("%s %v of %v %s %v", f.Name, f.Figure, f.Budget, f.Unit, f.OK))
		if !strings.HasPrefix(f.Machine, "linux/amd64, ") ||
			!strings.HasSuffix(f.Machine, "CPUs, Some Processor @ 2.80GHz") {
			t.Errorf("machine %q", f.Machine)
		}
	}
	if want :=
		"first-address 0.01058 of 1 s true\nheap 22.45 of 512 MiB of memory true\n" +
			"pass-cpu 0.2614 of 0.2 CPU s false"; strings.Join(got, "\n") != want {
		t.Errorf("figures\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if _, err := bench.Read(strings.NewReader("BenchmarkServices-2 1 many heap\n")); err == nil {
		t.Error("a figure that is none was taken for one")
	}
}

// all are figures of all budgets that are measured: their limits, so many times if they depend on the machine.
func all(times float64) []bench.Figure {
	return slices.DeleteFunc(withLarge(times), func(f bench.Figure) bool {
		limit, err := budget.Named(f.Name)
		return err != nil || limit.Large
	})
}

// withLarge are these figures, also those of the largest clusters.
func withLarge(times float64) []bench.Figure {
	var figures []bench.Figure
	for _, b := range budget.All() {
		if b.Measured {
			figure := b.Limit
			if b.Kept(2 * b.Limit) {
				figure *= times
			}
			figures = append(figures, bench.Figure{Name: b.Name, Figure: figure, Unit: b.Unit, Budget: b.Limit,
				OK: figure <= b.Limit})
		}
	}
	return figures
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		figures []bench.Figure
		want    string // in the error; "" for none
	}{
		"within":         {all(1), ""},
		"a busy machine": {all(2.9), ""},
		"far beyond":     {all(3.1), "start-cpu is 15.5 CPU s, at most 5"},
		"one is missing": {all(1)[1:], "start-cpu was not measured"},
		"nothing at all": {nil, "5000x1000-memory was not measured"},
		"a call more": {append(all(1), bench.Figure{Name: "start-calls", Figure: 11}),
			"start-calls is 11 calls, at most 10"},
		"one counts only": {append(all(1), bench.Figure{Name: "restart-calls", Figure: 11}),
			"restart-calls is 11 calls, at most 10"},
	}
	for name, tt := range tests {
		err := bench.Check(tt.figures, false)
		if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

func TestCheckOfTheLargestClusters(t *testing.T) {
	err := bench.Check(all(1), true)
	if err == nil || !strings.Contains(err.Error(), "5000x10000-heap was not measured") {
		t.Errorf("error %v, want that figures are missing", err)
	}
	if err = bench.Check(withLarge(1), true); err != nil {
		t.Error(err)
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	if err := bench.Print(&out, all(2)[:1]); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Fields(out.String()); strings.Join(lines,
		" ") != "budget figure at most start-cpu 10 5 CPU s above" {
		t.Errorf("table %q", out.String())
	}
}
