package gotest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
)

// event is one line of `go test -json`, see `go doc test2json` and `go help buildjson`.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
	Elapsed     float64 // seconds
}

// report turns events into text and counts them. It is used by one goroutine only.
type report struct {
	out     io.Writer
	tally   Tally
	race    bool // the race detector is on
	times   []PackageTime
	running []event // tests, in the order in which they began
	latest  string  // the test that ended last, and how
	started time.Time
	printed time.Time // when the last line went out
	done    int       // packages
	failed  []string  // in the order in which they failed
	// output is kept until it is known whether it is needed: by package and test, or by build.
	output map[string][]string
	// broken are the packages in which a test failed.
	broken map[string]bool
}

// longestLine bounds a line of `go test -json`, which has at most a line of a test's output.
const longestLine = 1 << 30

// newReport starts an empty report.
func newReport(out io.Writer) *report {
	now := time.Now()
	return &report{out: out, started: now, printed: now, output: map[string][]string{}, broken: map[string]bool{}}
}

// follow reads events until there are no more, and breaks a silence longer than the given one.
func (r *report) follow(in io.Reader, silence time.Duration) error {
	lines := make(chan string)
	var readErr error
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, longestLine)
		for scanner.Scan() {
			lines <- scanner.Text() + "\n"
		}
		readErr = scanner.Err()
	}()
	ticker := time.NewTicker(silence)
	defer ticker.Stop()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return readErr
			}
			r.line(line)
		case <-ticker.C:
			r.progressLine(silence)
		}
	}
}

// progressLine shows that nothing hangs: compiling Kubernetes libraries takes minutes, as do some tests.
func (r *report) progressLine(silence time.Duration) {
	if time.Since(r.printed) >= silence/2 {
		r.printf("... %s after %s, %d packages done%s\n", r.activity(), time.Since(r.started).Round(time.Second),
			r.done, r.latest)
	}
}

// activity names the test that began last of those that run: the innermost one.
func (r *report) activity() string {
	if len(r.running) == 0 {
		return "still building or testing"
	}
	last := r.running[len(r.running)-1]
	return "running " + path.Base(last.Package) + " " + last.Test
}

// ended takes a test off those that run.
func (r *report) ended(e event) {
	r.running = slices.DeleteFunc(r.running, func(one event) bool { return one.key() == e.key() })
	took := time.Duration(e.Elapsed * float64(time.Second)).Round(time.Second)
	r.latest = fmt.Sprintf("; the latest result: %s %s %s after %s", path.Base(e.Package), e.Test, e.Action, took)
}

// line takes one line; what is no event is shown as it is.
func (r *report) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
		r.printf("%s", line)
		return
	}
	switch {
	case e.Action == "build-output":
		r.keep(e.ImportPath, e.Output)
	case e.Action == "output":
		r.keep(e.key(), e.Output)
	case e.Test != "":
		r.test(e)
	default:
		r.pkg(e)
	}
}

// keep records output; the lines that only announce a test would hide the rest.
func (r *report) keep(key, output string) {
	for _, noise := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME"} {
		if strings.HasPrefix(output, noise) {
			return
		}
	}
	r.output[key] = append(r.output[key], output)
}

// key distinguishes the output of a test from that of its package and of other tests.
func (e event) key() string { return e.Package + "\n" + e.Test }

// test counts a finished test; the output of a failed one is shown.
func (r *report) test(e event) {
	switch e.Action {
	case "run":
		r.running = append(r.running, e)
		return
	case "pass":
		r.tally.Passed++
	case "skip":
		r.skipped(e)
	case "fail":
		r.tally.Failed++
		r.broken[e.Package] = true
		r.failed = append(r.failed, e.Package+" "+e.Test+r.said(e.key()))
		r.show(e.key())
	default:
		return
	}
	r.ended(e)
	delete(r.output, e.key())
}

// skipped counts a skipped test by its reason.
func (r *report) skipped(e event) {
	if strings.Contains(strings.Join(r.output[e.key()], ""), ": "+roottest.Reason) {
		r.tally.NeedRoot++
	} else {
		r.tally.Skipped++
	}
}

// statement is what a test says with its own file and line: t.Error, t.Fatal and t.Log.
var statement = regexp.MustCompile(`^ +\S+_test\.go:\d+: `)

// maxLines is how many statements of a failed test the end of the report repeats.
const maxLines = 5

// said are the last statements of a failed test, each on a line of its own: where only the end of a long log is kept,
// they say why.
func (r *report) said(key string) string {
	lines := slices.DeleteFunc(slices.Clone(r.output[key]), func(line string) bool {
		return !statement.MatchString(line)
	})
	var text strings.Builder
	for _, line := range lines[max(len(lines)-maxLines, 0):] {
		text.WriteString("\n" + strings.TrimRight(line, "\n"))
	}
	return text.String()
}

// pkg closes a package: with its line when it passed, with everything that is left when it did not.
func (r *report) pkg(e event) {
	switch e.Action {
	case "pass":
		r.summary(e)
	case "fail":
		r.failure(e)
	case "skip":
	default:
		return
	}
	r.done++
	if e.Action != "skip" {
		r.times = append(r.times, PackageTime{Package: e.Package, Race: r.race, Seconds: e.Elapsed})
	}
	r.running = slices.DeleteFunc(r.running, func(one event) bool { return one.Package == e.Package })
	maps.DeleteFunc(r.output, func(key string, _ []string) bool { return strings.HasPrefix(key, e.key()) })
}

// summary shows the one line of a package that passed, without what its tests wrote.
func (r *report) summary(e event) {
	for _, line := range r.output[e.key()] {
		if strings.HasPrefix(line, "ok ") {
			r.printf("%s", line)
		}
	}
}

// failure shows why a package failed, also when no test of it says so.
func (r *report) failure(e event) {
	if !r.broken[e.Package] {
		r.tally.Failed++
		r.failed = append(r.failed, e.Package)
	}
	r.show(e.FailedBuild)
	for _, key := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(key, e.key()) && key != e.key() {
			r.show(key) // a test that never ended
		}
	}
	r.show(e.key())
}

// show prints kept output.
func (r *report) show(key string) {
	for _, line := range r.output[key] {
		r.printf("%s", line)
	}
}

// finish prints the end of the report. A go command that failed for a reason of its own counts as one failure.
func (r *report) finish(commandFailed bool) Result {
	if commandFailed && r.tally.Failed == 0 {
		r.tally.Failed++
		r.failed = append(r.failed, "go test itself, see above")
	}
	for _, name := range r.failed {
		r.printf("failed: %s\n", name)
	}
	r.printf("%s in %s\n", r.tally, time.Since(r.started).Round(time.Second))
	slices.SortFunc(r.times, func(a, b PackageTime) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return Result{Tally: r.tally, Times: r.times}
}

// printf writes to the report. An error could not be reported.
func (r *report) printf(format string, args ...any) {
	fmt.Fprintf(r.out, format, args...)
	r.printed = time.Now()
}
