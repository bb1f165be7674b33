package lives

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// lived is a test of lives. A life takes no time; LIVED says what goes wrong: nothing, lives
// whose seeds end in 7 fail, the last life never ends, or there is only one.
const lived = `package lived

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestLives(t *testing.T) {
	first, _ := strconv.Atoi(os.Getenv("TRIAL_SEED"))
	lives, _ := strconv.Atoi(os.Getenv("TRIAL_LIVES"))
	for seed := first; seed < first+lives+2; seed++ {
		t.Run(fmt.Sprintf("life-%d", seed), func(t *testing.T) {
			t.Run("seed-1", func(t *testing.T) {
				if seed%10 == 7 && os.Getenv("LIVED") == "FAILS" {
					t.Error("what went wrong in", seed)
				}
			})
			if seed == first+41 && os.Getenv("LIVED") == "HANGS" {
				fmt.Println("it hangs")
				select {}
			}
		})
		if os.Getenv("LIVED") == "ENDS" {
			return
		}
	}
}
`

// module writes a module with the test of lives.
func module(t *testing.T) Options {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.test/lived\n\ngo 1.26\n",
		"lived_test.go": lived} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	return Options{Root: root, Package: ".", Time: time.Second, Seed: 100}
}

func TestRun(t *testing.T) {
	o := module(t)
	tests := map[string]struct {
		says []string
		err  string
	}{
		"PASSES": {[]string{"random lives from seed 100 on, for 1s, at least 40",
			"42 lives in 0s, 0 failed: seeds 100 to 141"}, ""},
		"FAILS": {[]string{
			"what went wrong in 107", "what went wrong in 137", "4 failed: seeds 100 to 141",
			"repeat it: TRIAL_SEED=107 TRIAL_LIVES=1 go test -count=1 -run '^TestLives$' .\n",
		}, "random lives failed: exit status 1"},
		"ENDS": {[]string{"1 lives in 0s, 0 failed: seeds 100 to 100"},
			"random lives failed: 1 lives were tried, and a run must try 40"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LIVED", name)
			var out strings.Builder
			err := Run(t.Context(), o, &out)
			if got := fmt.Sprint(err); got != tt.err && (err != nil || tt.err != "") {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			for _, want := range tt.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwant %q", out.String(), want)
				}
			}
			if strings.Contains(out.String(), "=== RUN") || strings.Contains(out.String(), "--- PASS") {
				t.Errorf("it shows what passes:\n%s", out.String())
			}
		})
	}
}

// cutting is an output that calls cut when a line with certain words is written.
type cutting struct {
	text strings.Builder
	when string
	cut  func()
}

func (c *cutting) Write(text []byte) (int, error) {
	if strings.Contains(string(text), c.when) {
		c.cut()
	}
	return c.text.Write(text)
}

// TestCutShort prints how to repeat the life that was under way.
func TestCutShort(t *testing.T) {
	o := module(t)
	t.Setenv("LIVED", "HANGS")
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &cutting{when: "it hangs", cut: func() { cancel(errors.New("terminated")) }}
	err := Run(ctx, o, out)
	if err == nil || !strings.Contains(err.Error(), "trying lives: terminated") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(out.text.String(), "repeat it: TRIAL_SEED=141 TRIAL_LIVES=1 go test") ||
		!strings.Contains(out.text.String(), "41 lives in") {
		t.Errorf("got\n%s", out.text.String())
	}
}

// TestSeedsAreFresh in every run that is given none.
func TestSeedsAreFresh(t *testing.T) {
	o := module(t)
	o.Seed = 0
	t.Setenv("LIVED", "ENDS")
	first := regexp.MustCompile(`from seed (\d+) on`)
	drawn := map[string]bool{}
	for range 2 {
		var out strings.Builder
		if err := Run(t.Context(), o, &out); !errors.Is(err, ErrFailed) {
			t.Fatal(err)
		}
		drawn[first.FindString(out.String())] = true
	}
	if len(drawn) != 2 {
		t.Errorf("two runs: %v", drawn)
	}
}

func TestTestThatDoesNotBuild(t *testing.T) {
	o := module(t)
	o.Package = "./missing"
	if err := Run(t.Context(), o, &strings.Builder{}); err == nil ||
		!strings.Contains(err.Error(), "building the test of lives") {
		t.Errorf("error %v", err)
	}
}
