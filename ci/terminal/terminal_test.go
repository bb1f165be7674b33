package terminal_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/ci/terminal"
)

// TestShow: a program sees a terminal of the width, and the test what it shows, also if it fails.
func TestShow(t *testing.T) {
	shown := terminal.Show(t, 123, exec.CommandContext(t.Context(), "sh", "-c", "test -t 1 && stty size; exit 3"))
	if got := strings.TrimSpace(shown); got != "50 123" {
		t.Errorf("the terminal shows %q", got)
	}
}

// failures counts what a check finds.
type failures struct {
	testing.TB
	found []string
}

// Errorf implements testing.TB.
func (f *failures) Errorf(format string, args ...any) {
	f.found = append(f.found, fmt.Sprintf(format, args...))
}

// TestCheck: each thing that a person would not want to see is found.
func TestCheck(t *testing.T) {
	const colours = `if [ -t 1 ] && [ -z "$NO_COLOR" ]; then printf '\033[1mtext\033[0m\n'; else echo text; fi`
	for name, test := range map[string]struct{ script, want string }{
		"good":            {colours, ""},
		"wide":            {colours + "; printf '%090d' 1", "wider than 80 columns"},
		"no text":         {strings.ReplaceAll(colours, "text", "other"), `lacks "text"`},
		"no colours":      {"echo text", "or colours"},
		"progress":        {`[ -t 2 ] && printf 'step 1\r\033[Kstep 2\r\033[K' >&2; ` + colours, ""},
		"wide progress":   {`[ -t 2 ] && printf 'step %076d\r\033[K' 1 >&2; ` + colours, "wider than 80 columns"},
		"always progress": {`printf 'step\r\033[K' >&2; ` + colours, "writes control sequences"},
		"always colours":  {`printf '\033[1mtext\033[0m\n'`, "80 columns with NO_COLOR lacks"},
		"colours if wide": {strings.ReplaceAll(colours, `[ -z "$NO_COLOR" ]`,
			`{ [ -z "$NO_COLOR" ] || stty size | grep -q 200; }`), "200 columns with NO_COLOR lacks"},
		"wide without colours": {colours + `; if [ -n "$NO_COLOR" ]; then printf '%090d' 1; fi`, "wider than 80"},
	} {
		t.Run(name, func(t *testing.T) {
			all := &failures{TB: t}
			terminal.Check(all, "text", func() *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), "sh", "-c", test.script)
				cmd.Env = []string{"PATH=/usr/bin:/bin"}
				return cmd
			})
			if text := strings.Join(all.found, "\n"); (text == "") != (test.want == "") ||
				!strings.Contains(text, test.want) {
				t.Errorf("found %q, want %q", text, test.want)
			}
		})
	}
}
