package budget_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget"
)

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range budget.All() {
		if seen[b.Name] || b.Name == "" || b.Work == "" || b.Unit == "" || strings.ContainsAny(b.Name, " /") {
			t.Errorf("%+v: want a name of its own without spaces, some work, and a unit", b)
		}
		seen[b.Name] = true
		if found, err := budget.Named(b.Name); err != nil || found != b {
			t.Errorf("Named(%q) = %+v, %v", b.Name, found, err)
		}
	}
	if _, err := budget.Named("unknown"); err == nil {
		t.Error("a budget that nobody set was found")
	}
}

func TestKept(t *testing.T) {
	tests := []struct {
		budget budget.Budget
		figure float64
		want   bool
	}{
		{budget.Budget{Limit: 10}, 10, true},
		{budget.Budget{Limit: 10}, 11, false},
		{budget.Budget{Limit: 0}, 1, false},
		{budget.Budget{Limit: 10, Unit: "s"}, 10.1, false}, // in virtual time
		{budget.Budget{Limit: 10, Unit: "s", Measured: true}, 30, true},
		{budget.Budget{Limit: 10, Unit: "s", Measured: true}, 30.1, false},
		{budget.Budget{Limit: 10, Unit: "CPU s", Measured: true}, 30, true},
		{budget.Budget{Limit: 10, Unit: "MiB of memory", Measured: true}, 30, true},
		{budget.Budget{Limit: 10, Unit: "MiB", Measured: true}, 10, true},
		{budget.Budget{Limit: 10, Unit: "MiB", Measured: true}, 10.1, false},
		{budget.Budget{Limit: 10, Unit: "calls", Measured: true}, 11, false},
		{budget.Budget{Limit: 10, Unit: "writes", Measured: true}, 11, false},
		{budget.Budget{Limit: 10, Unit: "calls", Measured: true, Periodic: true}, 30, true},
		{budget.Budget{Limit: 10, Unit: "calls", Measured: true, Periodic: true}, 31, false},
	}
	for _, tt := range tests {
		if got := tt.budget.Kept(tt.figure); got != tt.want {
			t.Errorf("%+v: %v is within it: %v, want %v", tt.budget, tt.figure, got, tt.want)
		}
	}
}

// TestSlack: of the figures that are measured, only those that depend on the machine may exceed their limits.
func TestSlack(t *testing.T) {
	depends := regexp.MustCompile(
		"(cpu|seconds|first-address|heap|memory)$|^nodes-5000-(initialise|quiet|some|all|joins)-(calls|traffic)$")
	for _, b := range budget.All() {
		want := b.Measured && depends.MatchString(b.Name)
		if got := b.Kept(2*b.Limit + 1e-9); got != want {
			t.Errorf("%+v: twice the limit is within it: %v, want %v", b, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	counted, measured := budget.Table(budget.All(), false), budget.Table(budget.All(), true)
	if rows := strings.Count(counted+measured, "\n") - 4; rows != len(budget.All()) {
		t.Errorf("%d rows for %d budgets", rows, len(budget.All()))
	}
	if want := "| a restart with 1,000 Services on 1,000 nodes | 10 calls |\n"; !strings.Contains(counted, want) ||
		strings.Contains(measured, want) {
		t.Errorf("%q is not where it belongs in\n%s\n%s", want, counted, measured)
	}
	if want := "| 0.2 CPU s |"; !strings.Contains(measured, want) {
		t.Errorf("%q is not in\n%s", want, measured)
	}
}
