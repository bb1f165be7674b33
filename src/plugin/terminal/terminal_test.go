package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// printed returns what a function prints to a terminal with some width.
func printed(width int, colour bool, write func(Terminal)) string {
	var out bytes.Buffer
	write(Terminal{Out: &out, Err: &out, Width: width, Colour: colour})
	return out.String()
}

func sample() Table {
	return Table{
		Columns: []Column{{Name: "NAME"}, {Name: "COUNT", Number: true}, {Name: "MESSAGE", Least: 12}},
		Rows: [][]Cell{
			{{Text: "web"}, {Text: "3"}, {Text: "everything is as it should be", Tone: Good}},
			{{Text: "longer-name"}, {Text: "12"}, {Text: "no\x1b[2Jtarget", Tone: Bad}},
		},
	}
}

// TestTable: without a width, each row is one line. With a width, the text of a column that can be reduced takes
// several lines. Characters that a terminal obeys are not printed.
func TestTable(t *testing.T) {
	for width, want := range map[int]string{
		0: "NAME          COUNT   MESSAGE\n" +
			"web               3   everything is as it should be\n" +
			"longer-name      12   no\ufffd[2Jtarget\n",
		40: "NAME          COUNT   MESSAGE\n" +
			"web               3   everything is as\n" +
			"                      it should be\n" +
			"longer-name      12   no\ufffd[2Jtarget\n",
	} {
		got := printed(width, false, func(to Terminal) { to.PrintTable(sample()) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", width, diff)
		}
	}
	coloured := printed(80, true, func(to Terminal) { to.PrintTable(sample()) })
	if !strings.Contains(coloured, "\x1b[32meverything") {
		t.Errorf("the table has no colours: %q", coloured)
	}
}

// TestTableShortens: a long name takes one line of a table that fits, and keeps the end in which names often differ.
func TestTableShortens(t *testing.T) {
	long := Table{Columns: []Column{{Name: "NAME", Least: 8, Shorten: true}, {Name: "STATE"}},
		Rows: [][]Cell{{{Text: strings.Repeat("ä", 60) + "-1"}, {Text: "ready"}}, {{Text: "b"}, {Text: "ready"}}}}
	got := printed(40, false, func(to Terminal) { to.PrintTable(long) })
	blanks := strings.Repeat(" ", 31)
	want := "NAME" + blanks[3:] + "   STATE\n" + strings.Repeat("ä", 16) + "…" + strings.Repeat("ä", 13) +
		"-1   ready\nb" + blanks + "   ready\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestIndented: a text is broken, and a command in it is not.
func TestIndented(t *testing.T) {
	got := printed(40, false, func(to Terminal) {
		to.Indented(4, "+ ", Good, "create load balancer with a long name that needs a second line\n"+
			"  kubectl get service a-name-that-is-longer-than-the-line")
	})
	want := "  + create load balancer with a long\n    name that needs a second line\n" +
		"      kubectl get service a-name-that-is-longer-than-the-line\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNewWithoutATerminal: files and pipes have no width and no colours, and nobody answers.
func TestNewWithoutATerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	to := New(file, file, file, func(string) string { return "100" })
	if to.Width != 0 || to.Colour || to.Interactive {
		t.Errorf("a file has width %d, colours %t, and is interactive: %t", to.Width, to.Colour, to.Interactive)
	}
	show, done := to.Progress()
	show("step")
	done()
	if to.Confirm(t.Context(), "Delete?", "yes") == nil {
		t.Error("nobody answers, and the answer is yes")
	}
	if content, err := os.ReadFile(file.Name()); err != nil || len(content) > 0 {
		t.Errorf("progress is written to a file: %q, error %v", content, err)
	}
}

// TestHint: a hint takes the place of the progress, and fits a terminal; in a file, it is one line.
func TestHint(t *testing.T) {
	const words = "Results may differ from what the program does."
	for name, test := range map[string]struct {
		to   Terminal
		want string
	}{
		"terminal": {Terminal{Width: 40, Interactive: true, Steps: true},
			"\r\x1b[Kstep\r\x1b[KResults may differ from what the program\ndoes.\n"},
		"dumb terminal": {Terminal{Width: 40, Interactive: true}, "Results may differ from what the program\ndoes.\n"},
		"file":          {Terminal{Width: 40}, words + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			test.to.Err = &errs
			show, _ := test.to.Progress()
			show("step")
			if test.to.Hint(words); errs.String() != test.want {
				t.Errorf("got %q, want %q", errs.String(), test.want)
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"yes\n": true, "no\n": false, "\n": false, "": false, "Yes\n": false} {
		var shown bytes.Buffer
		to := Terminal{In: strings.NewReader(answer), Err: &shown, Interactive: true, Width: 12}
		if err := to.Confirm(t.Context(), "Delete all of it?", "yes"); (err == nil) != want {
			t.Errorf("the answer %q gives the error %v, want none: %t", answer, err, want)
		}
		if got := shown.String(); got != "Delete all\nof it?\nType \"yes\" to confirm: " {
			t.Errorf("it shows %q, want the question in lines that fit", got)
		}
	}
}

// TestConfirmEnds: an interrupt ends the question, although nothing was typed.
func TestConfirmEnds(t *testing.T) {
	input, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() }) // ends the read that remains
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupt := errors.New("interrupted")
	cancel(interrupt)
	to := Terminal{In: input, Err: &bytes.Buffer{}, Interactive: true}
	if err := to.Confirm(ctx, "Delete?", "yes"); !errors.Is(err, interrupt) {
		t.Errorf("error %v, want %v", err, interrupt)
	}
}

// TestBeside: text beside the result has no colours and breaks no lines if the error output is a file.
func TestBeside(t *testing.T) {
	var errs bytes.Buffer
	for interactive, want := range map[bool]string{
		true: "\x1b[31mone\x1b[0m\n\x1b[31mtwo\x1b[0m\n", false: "one two\n",
	} {
		errs.Reset()
		to := Terminal{Err: &errs, Width: 4, Colour: true, Interactive: interactive}
		if to.Beside().Indented(0, "", Bad, "one two"); errs.String() != want {
			t.Errorf("interactive %t: got %q, want %q", interactive, errs.String(), want)
		}
	}
}

// TestClean: a name cannot change what a person reads around it.
func TestClean(t *testing.T) {
	const replaced = "a\ufffdb\ufffdc\n    d"
	if got := Clean("a\x1bb\u202ec\n\td"); got != replaced {
		t.Errorf("got %q, want %q", got, replaced)
	}
}

func TestFormats(t *testing.T) {
	for _, format := range append(Formats(), "") {
		if err := Format(format).Check(); err != nil {
			t.Error(err)
		}
	}
	if err := Format("xml").Check(); err == nil || !strings.Contains(err.Error(), "json, yaml, wide, name") {
		t.Errorf("error %v, want one that names the formats", err)
	}
}
