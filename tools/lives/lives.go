// Package lives runs the random lives of TestLives from a seed that is drawn for this run, as many as fit into a time.
// It counts them, and prints the command that repeats each one that failed, or that was not finished.
package lives

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// least is how many lives a run tries, however long they take.
	least = 40
	// grace is what the latest lives get to end when the time is over.
	grace = 10 * time.Minute
	// seeds bounds the seeds that are drawn, so that they are short.
	seeds = 1_000_000_000_000
)

// Options say what is run.
type Options struct {
	Root    string        // of the module or workspace
	Package string        // the package with TestLives: "./src/thalassa"
	Time    time.Duration // during which lives are begun
	Seed    uint64        // the first one; 0 draws one
}

// ErrFailed says that a life failed, or that fewer were tried than a run must try.
var ErrFailed = errors.New("random lives failed")

// Run tries lives until the time is over, and prints what failed and a closing line with the number of lives and their
// seeds.
func Run(ctx context.Context, o Options, out io.Writer) error {
	for o.Seed == 0 {
		o.Seed = rand.Uint64N(seeds)
	}
	folder, err := os.MkdirTemp("", "lives")
	if err != nil {
		return fmt.Errorf("making a folder for the test of lives: %w", err)
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "lives.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, o.Package)
	build.Dir, build.Stdout, build.Stderr = o.Root, out, out
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the test of lives: %w", err)
	}
	fmt.Fprintf(out, "random lives from seed %d on, for %s, at least %d\n", o.Seed, o.Time, least)
	began := time.Now()
	seen, err := watch(ctx, o, binary, out)
	for _, seed := range slices.Concat(seen.failed, seen.unfinished()) {
		fmt.Fprintf(out, "repeat it: TRIAL_SEED=%d TRIAL_LIVES=1 go test -count=1 -run '^TestLives$' %s\n", seed,
			o.Package)
	}
	fmt.Fprintf(out, "%d lives in %s, %d failed: seeds %s\n", seen.ended, time.Since(began).Round(time.Second),
		len(seen.failed), seen.span(o.Seed))
	switch {
	case err == nil && seen.ended < least:
		return fmt.Errorf("%w: %d lives were tried, and a run must try %d", ErrFailed, seen.ended, least)
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("trying lives: %w", context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}

// watch runs the test, and prints what it says besides which lives begin and end.
func watch(ctx context.Context, o Options, binary string, out io.Writer) (*record, error) {
	cmd := exec.CommandContext(ctx, binary, "-test.run=^TestLives$", "-test.v", "-test.timeout="+
		(o.Time+grace).String())
	cmd.Dir = filepath.Join(o.Root, o.Package)
	cmd.Env = append(os.Environ(), fmt.Sprintf("TRIAL_SEED=%d", o.Seed), "TRIAL_TIME="+o.Time.String(),
		fmt.Sprintf("TRIAL_LIVES=%d", least))
	seen := &record{}
	reader, writer, err := os.Pipe()
	if err != nil {
		return seen, fmt.Errorf("reading what the lives print: %w", err)
	}
	defer reader.Close()
	cmd.Stdout, cmd.Stderr = writer, writer
	err = errors.Join(cmd.Start(), writer.Close())
	if err != nil {
		return seen, fmt.Errorf("starting the test of lives: %w", err)
	}
	lines := bufio.NewReader(reader)
	for {
		line, failure := lines.ReadString('\n')
		if seen.note(line) {
			fmt.Fprint(out, line)
		}
		if failure != nil {
			return seen, cmd.Wait()
		}
	}
}

// record is what has been seen of lives.
type record struct {
	latest uint64 // the seed of the life that began last; 0: none has begun
	open   bool   // it has not ended
	ended  int
	failed []uint64
}

// life is what go test -v prints when a life begins or ends.
var life = regexp.MustCompile(`^ *(=== RUN  |--- PASS:|--- FAIL:) +TestLives/life-(\d+)(?: \(\S+\))?\n?$`)

// progress is what it prints of parts of lives that pass.
var progress = regexp.MustCompile(`^ *(=== |--- PASS|PASS$)`)

// note reads a line, and says whether it is worth to be printed.
func (r *record) note(line string) bool {
	match := life.FindStringSubmatch(line)
	if match == nil {
		return !progress.MatchString(strings.TrimSuffix(line, "\n"))
	}
	seed, err := strconv.ParseUint(match[2], 10, 64)
	if err != nil {
		return true
	}
	if strings.HasPrefix(match[1], "===") {
		r.end()
		r.latest, r.open = seed, true
		return false
	}
	if seed == r.latest {
		r.end()
	}
	if strings.HasSuffix(match[1], "PASS:") {
		return false
	}
	r.failed = append(r.failed, seed)
	return true
}

// end is when the latest life has ended: the next one begins, or the test says how it went, which it does for all when
// the last has ended.
func (r *record) end() {
	if r.open {
		r.open = false
		r.ended++
	}
}

// unfinished is the seed of the life that began and did not end.
func (r *record) unfinished() []uint64 {
	if r.open {
		return []uint64{r.latest}
	}
	return nil
}

// span are the seeds that were tried.
func (r *record) span(first uint64) string {
	if r.latest == 0 {
		return "none"
	}
	return fmt.Sprintf("%d to %d", first, r.latest)
}
