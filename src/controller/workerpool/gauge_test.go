package workerpool

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestGauges: each collection counts again.
func TestGauges(t *testing.T) {
	colours := map[string]int{"red": 2}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(
		NewGauge("example_marbles", "Number of marbles.", "colour", func() map[string]int { return colours }),
		NewTotal("example_colours", "Number of colours.", func() int { return len(colours) }))
	for _, want := range []string{`
# HELP example_colours Number of colours.
# TYPE example_colours gauge
example_colours 1
# HELP example_marbles Number of marbles.
# TYPE example_marbles gauge
example_marbles{colour="red"} 2
`, `
# HELP example_colours Number of colours.
# TYPE example_colours gauge
example_colours 2
# HELP example_marbles Number of marbles.
# TYPE example_marbles gauge
example_marbles{colour="blue"} 1
example_marbles{colour="red"} 2
`} {
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
		colours["blue"] = 1
	}
}
