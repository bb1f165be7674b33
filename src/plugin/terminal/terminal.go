// Package terminal writes results for people and for programs: tables that fit the terminal, colours, and JSON or YAML.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Terminal is where a command writes to. Results go to Out, and progress and hints to Err.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	// Width is the number of columns; 0 is unlimited, because the output is not a terminal.
	Width int
	// Colour means that the output is a terminal that shows colours, and that the user has not turned them off.
	Colour bool
	// Interactive means that a person sees both outputs and can answer.
	Interactive bool
	// Steps means that progress is shown: a person sees both outputs, and the terminal obeys control sequences.
	Steps bool
	// Size returns the present size; nil if it is not known.
	Size func() (width, height int)
	// Raw makes the input return each key at once, and does not show them. Restore ends this. Nil if the terminal has
	// no keys, or no control sequences.
	Raw func() (restore func(), err error)
}

// minWidth is the least width that tables are made for. A narrower terminal breaks the lines.
const minWidth = 40

// New returns the terminal of the process. Getenv is os.Getenv or a replacement: NO_COLOR (no-color.org) and TERM=dumb
// turn colours off, and COLUMNS sets the width.
func New(in, out, errs *os.File, getenv func(string) string) Terminal {
	t := Terminal{In: in, Out: out, Err: errs}
	if !term.IsTerminal(int(out.Fd())) {
		return t
	}
	dumb, keys := getenv("TERM") == "dumb", term.IsTerminal(int(in.Fd()))
	t.Interactive = keys && term.IsTerminal(int(errs.Fd()))
	t.Steps = t.Interactive && !dumb
	t.Colour = getenv("NO_COLOR") == "" && !dumb
	if columns, _, err := term.GetSize(int(out.Fd())); err == nil {
		t.Width = columns
		t.Size = sizeOf(out, getenv)
	}
	if keys && !dumb {
		t.Raw = func() (func(), error) { return raw(in) }
	}
	if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
		t.Width = columns
	}
	t.Width = max(cmp.Or(t.Width, 80), minWidth)
	return t
}

// Tone is the meaning of a text, which a colour shows in addition to the words.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Caution
	Bad
	Faint
	Strong
)

// Paint returns the text with the colour of a tone, or unchanged without colours.
func (t Terminal) Paint(tone Tone, words string) string {
	colours := map[Tone]text.Color{Good: text.FgGreen, Caution: text.FgYellow, Bad: text.FgRed, Faint: text.Faint,
		Strong: text.Bold}
	colour, coloured := colours[tone]
	if !t.Colour || !coloured || words == "" {
		return words
	}
	return colour.EscapeSeq() + words + text.Reset.EscapeSeq()
}

// Print writes text to the output. An error of the output, such as a full disk, ends the command elsewhere: whoever
// makes the Terminal sees it.
func (t Terminal) Print(format string, values ...any) { _, _ = fmt.Fprintf(t.Out, format, values...) }

// Clean replaces characters that a terminal does not show but obeys, among them those that change the direction of a
// text. Names and messages come from others. A tab becomes blanks, so that the width of a line is known.
func Clean(words string) string {
	words = strings.ReplaceAll(words, "\t", "    ")
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, words)
}

// wrap breaks lines that are longer than the width, and keeps the others. A line that begins with two blanks is a
// command to copy: a shell would run each of its parts.
func wrap(words string, width int) string {
	lines := strings.Split(words, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "  ") {
			lines[i] = strings.TrimRight(text.WrapSoft(line, width), "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// Indented writes a text whose lines fit the terminal, each after the same number of blanks. First begins the first
// line, in place of the last blanks. Only lines that begin with two blanks are not broken.
func (t Terminal) Indented(indent int, first string, tone Tone, words string) {
	words = Clean(words)
	if t.Width > 0 {
		words = wrap(words, t.Width-indent)
	}
	for i, line := range strings.Split(words, "\n") {
		begin := strings.Repeat(" ", indent)
		if i == 0 {
			begin = begin[:indent-len(first)] + first
		}
		t.Print("%s\n", t.Paint(tone, begin+strings.TrimRight(line, " ")))
	}
}

// beginAgain removes the line on which the cursor is.
const beginAgain = "\r" + clearLine

// Progress returns a function that shows the present step on one line, and one that removes the line. Without a
// terminal, nothing is shown.
func (t Terminal) Progress() (show func(step string), done func()) {
	if !t.Steps {
		return func(string) {}, func() {}
	}
	show = func(step string) {
		step = strings.ReplaceAll(Clean(step), "\n", " ")
		_, _ = fmt.Fprint(t.Err, beginAgain+text.Trim(step, t.Width-1))
	}
	return show, func() { _, _ = fmt.Fprint(t.Err, beginAgain) }
}

// Hint writes a text beside the result, in place of the progress. Its lines fit a terminal.
func (t Terminal) Hint(words string) {
	_, done := t.Progress()
	done()
	t.Beside().Indented(0, "", Plain, words)
}

// Beside returns the terminal for text that is not the result: it goes to the error output.
func (t Terminal) Beside() Terminal {
	t.Out = t.Err
	if !t.Interactive {
		t.Width, t.Colour = 0, false // those of the other output
	}
	return t
}

// Confirm asks a question, and returns nil if the answer is the word. The error is that there is no terminal, that the
// answer is another one, or why ctx ended before there was one: then a read of the input remains.
func (t Terminal) Confirm(ctx context.Context, question, word string) error {
	if !t.Interactive {
		return errors.New("there is no terminal for an answer")
	}
	beside := t.Beside()
	beside.Indented(0, "", Plain, question)
	beside.Print("Type %q to confirm: ", word)
	answers := make(chan string, 1)
	go func() {
		var answer string
		_, _ = fmt.Fscanln(t.In, &answer) // what is not an answer is not the word
		answers <- answer
	}()
	select {
	case answer := <-answers:
		if answer == word {
			return nil
		}
		return fmt.Errorf("the answer was not %q", word)
	case <-ctx.Done():
		_, _ = fmt.Fprintln(t.Err)
		return context.Cause(ctx)
	}
}
