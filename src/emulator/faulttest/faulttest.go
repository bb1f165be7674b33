// Package faulttest disturbs a piece of work against the cloud at every single
// call and checks that it comes out as if nothing had happened.
//
//	func TestCrash(t *testing.T) {
//		faulttest.Crash(t, faulttest.Scenario{Name: "create", Cloud: ..., Begin: ...})
//	}
//
// First the work runs undisturbed. Crash then repeats it and lets the process
// end at each of its calls, once before the cloud has heard of the call and
// once after the cloud did it; a new process takes over. Faults repeats it with
// every kind of fault at every call, and Sample with some of those. Handover
// changes processes in good order at each call. Chaos repeats it with all of
// that, drawn from seeds. After each trial
//
//   - the cloud has what it has after the undisturbed work: nothing missing,
//     left over or made twice, and what was there before is still the same;
//   - what belongs to others is exactly as it was, and no write named it; nor did
//     any name what a ConcurrentActor made that was at work at the same time;
//   - there were hardly more writes than without the disturbance;
//   - nothing was ever, if only for the moment between two calls, as the
//     scenario says it must never be;
//   - doing the work once more writes nothing.
//
// Every trial is a subtest in virtual time with a cloud of its own, named after
// the scenario, the disturbance and the call, and says how to repeat just it.
package faulttest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// Scenario is a piece of work against a cloud. The functions are called for
// every trial anew, inside its synctest bubble. Given the same answers they
// must make the same calls in the same order.
type Scenario struct {
	// Name is part of the names of subtests; it holds no slash.
	Name string
	// Cloud is what the cloud of a trial is made of. Every organisation of its
	// seed needs credentials, for looking at what it owns; a data plane is not
	// possible.
	Cloud emulator.Config
	// Middleware, if set, is that of the cloud, for the test of a trial.
	Middleware func(testing.TB) func(http.Handler) http.Handler
	// Foreign puts into the cloud what the system under test may read and must
	// never write: machines, and what other owners have. Whatever the cloud
	// has afterwards, the seed included, is foreign. Nil adds nothing.
	Foreign func(t *testing.T, cloud *emulator.Emulator)
	// Begin brings the cloud to where the work starts, undisturbed, and returns
	// how the system under test is started. It may change what is foreign.
	Begin func(t *testing.T, cloud *emulator.Emulator) Start
	// Check says, by failing the test, that the undisturbed work did not do what
	// it is there for; all trials are compared with what it did. Nil takes it
	// for right.
	Check func(t *testing.T, cloud *emulator.Emulator)
	// Wayward says that what the cloud has in the end, and how many writes that
	// takes, depends on the time that disturbances cost: instead of comparing
	// with the undisturbed work, every trial calls Check.
	Wayward bool
	// Replaceable says that what is ours may be replaced by its like, so that it
	// does not matter which of two equal objects is left.
	Replaceable bool
	// Spare is how many writes that the cloud did each disturbance may cost; 0 means
	// 1, because the disturbed one may be repeated.
	Spare int
	// Always says what is wrong with a change of the cloud, from what it was to
	// what it is; an error is a problem of the trial. It is asked about what every
	// single call changed, whatever became of its answer, about what changed
	// between two calls, and about the end. Nil allows everything.
	Always func(was, is emulator.State) error
	// Environment is what repeating a trial takes besides its name, because the
	// scenario was made of it: "TRIAL_SEED=7".
	Environment string
	// Skip is how many seeds Chaos leaves out: scenarios that are made of seeds
	// meet other disturbances.
	Skip uint64
	// Overlap says that Chaos may also end a process whose latest write is on its
	// way: the cloud does it when the next process is at work.
	Overlap bool
	// Share is how many disturbances there are for each one that is tried: 8 tries
	// an eighth of them, at least one. 0 and 1 try all. It is for tests that
	// something makes many times as slow, such as the race detector, and that run
	// completely elsewhere.
	Share int
	// ConcurrentActor works in the same cloud at the same time; nil is none. Neither
	// may write to what the other made, and both must finish.
	ConcurrentActor *ConcurrentActor
}

// Start makes a fresh instance of the system under test, as the start of a
// process does, and returns its work. All its calls go through network.
type Start func(network http.RoundTripper) Work

// Work does the work until it is done, retrying as the real process would.
// Once ctx ends it returns an error within moments, but not before a call that
// is under way and must not be cut off has its answer. It is called a second
// time, by the same instance, to show that what is done is not done again.
type Work func(ctx context.Context) error

// Crash ends the process at each call of the work: before the cloud has heard
// of it, and after the cloud did it, when only the answer is missing. A new
// process does the work to the end.
func Crash(t *testing.T, s Scenario) {
	t.Helper()
	s.each(t, testPackage(), crashes)
}

// Handover stops the process while each of its calls is under way, as
// one that is no leader any more. It has the answer to that call before its
// work ends, and a new process does the rest. That costs no write.
func Handover(t *testing.T, s Scenario) {
	t.Helper()
	s.each(t, testPackage(), handovers)
}

// Faults answers each call of the work wrongly, late or not at all, in every
// way there is, and each three calls in a row, because clients may hide the
// first by asking again.
func Faults(t *testing.T, s Scenario) {
	t.Helper()
	s.each(t, testPackage(), faults)
}

const (
	// seedVariable chooses what Sample draws, and the first life.
	seedVariable = "TRIAL_SEED"
	// livesVariable says how many lives there are.
	livesVariable = "TRIAL_LIVES"
	// timeVariable says for how long more of them are begun.
	timeVariable = "TRIAL_TIME"
)

// Sample is Faults with only n of its trials, for a scenario that makes most of
// its calls like another one that is tried completely. Which ones comes from a
// seed: that in the environment variable TRIAL_SEED, or 1. It is logged, and
// part of how a failed trial says to repeat it.
func Sample(t *testing.T, s Scenario, n int) {
	t.Helper()
	seed, environment := Seed(t)
	s.Environment = strings.TrimSpace(s.Environment + " " + environment)
	s.each(t, testPackage(), func(calls []call) []disturbance { return sample(faults(calls), n, seed) })
}

// Seed is that in the environment variable TRIAL_SEED, or 1, and what to put
// into the environment to have it again. It is logged.
func Seed(t *testing.T) (seed uint64, environment string) {
	t.Helper()
	text := cmp.Or(os.Getenv(seedVariable), "1")
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: use a whole number", seedVariable, text)
	}
	environment = seedVariable + "=" + text
	t.Log(environment)
	return seed, environment
}

// Seeds are those of random lives, from TRIAL_SEED or 1 on: as many as the
// environment variable TRIAL_LIVES says, or some. With a duration in TRIAL_TIME
// they go on until that is over, there are at least as many, and a line says how
// many there were.
func Seeds(t *testing.T, some int) iter.Seq[uint64] {
	t.Helper()
	first, _ := Seed(t)
	text := cmp.Or(os.Getenv(livesVariable), strconv.Itoa(some))
	lives, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s=%s: use a whole number", livesVariable, text)
	}
	text = cmp.Or(os.Getenv(timeVariable), "0s")
	during, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s=%s: use a duration such as 60s", timeVariable, text)
	}
	began := time.Now()
	return func(yield func(uint64) bool) {
		n := uint64(0)
		for ; n < lives || time.Since(began) < during; n++ {
			if !yield(first + n) {
				return
			}
		}
		if during > 0 {
			fmt.Printf("%d lives in %s: seeds %d to %d\n", n, time.Since(began).Round(time.Second), first, first+n-1)
		}
	}
}

// Chaos lets any call fail in any way, with a chance and out of a choice of
// ways that come from a seed, for as many seeds.
func Chaos(t *testing.T, s Scenario, seeds int) {
	t.Helper()
	s.each(t, testPackage(), func([]call) []disturbance { return s.chaos(seeds) })
}

// disturbance is what happens to the work in one trial.
type disturbance struct {
	name string // of the subtest
	// at returns what applies to the nth call, counted from 1; nil for nothing.
	// It is asked once for each call, in order.
	at func(n int, c call) *failureMode
	// certain says that a call is disturbed in any case.
	certain bool
}

// each runs the scenario once undisturbed, and then under everything that can
// be made of the calls seen there.
func (s Scenario) each(t *testing.T, pkg string, of func([]call) []disturbance) {
	t.Helper()
	t.Run(s.Name, func(t *testing.T) {
		var undisturbed outcome
		synctest.Test(t, func(t *testing.T) {
			undisturbed = s.run(t, disturbance{}, outcome{})
			if s.Check != nil {
				s.Check(t, undisturbed.cloud)
			}
			if t.Failed() {
				t.Log(undisturbed.log()) // a bubble that failed ends the test around it
			}
		})
		if problems := undisturbed.problems(nil); len(problems) > 0 || t.Failed() {
			t.Fatalf("undisturbed: %s\n%s\nrepeat it: %s", strings.Join(problems, "\n"), undisturbed.log(),
				s.replay(pkg, t.Name()))
		}
		undisturbed.cloud = nil
		for _, d := range s.share(of(undisturbed.calls)) {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					got := s.run(t, d, undisturbed)
					for _, problem := range s.problems(t, got, undisturbed) {
						t.Error(problem)
					}
					if t.Failed() {
						t.Logf("%s\nrepeat it: %s", got.log(), s.replay(pkg, t.Name()))
					}
				})
			})
		}
	})
}

// share is as many of the disturbances as Share allows.
func (s Scenario) share(all []disturbance) []disturbance {
	const seed = 1
	of := max(s.Share, 1)
	return sample(all, (len(all)+of-1)/of, seed)
}

// problems says what is wrong with the outcome of a disturbed work.
func (s Scenario) problems(t *testing.T, got, undisturbed outcome) []string {
	t.Helper()
	if !s.Wayward {
		return got.problems(&undisturbed)
	}
	s.Check(t, got.cloud)
	return got.problems(nil)
}

// replay is the command that runs one subtest and nothing else.
func (s Scenario) replay(pkg, name string) string {
	var levels []string
	for level := range strings.SplitSeq(name, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	command := fmt.Sprintf("%s go test -count=1 -run '%s' %s", s.Environment, strings.Join(levels, "/"), pkg)
	return strings.TrimSpace(command)
}

// testPackage is the import path of the test that called Crash, Faults or
// Chaos.
func testPackage() string {
	const caller = 2 // testPackage itself and the function of this package that calls it
	counter, _, _, _ := runtime.Caller(caller)
	name := runtime.FuncForPC(counter).Name() // example.org/module/folder/package.Test.func1
	slash := strings.LastIndex(name, "/") + 1
	pkg, _, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + strings.TrimSuffix(pkg, "_test")
}
