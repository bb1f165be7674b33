package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
)

const (
	// seedVariable chooses what happens, roundVariable is the first round.
	seedVariable, roundVariable = "SOAK_SEED", "SOAK_ROUND"
	// timeVariable says for how long more rounds are begun.
	timeVariable = "SOAK_TIME"
	// someRounds are the fewest rounds: one in which processes end, one for the baseline, and one that is judged.
	someRounds = 3
	// restLimit bounds the wait until processes need no more than before. Connections that nobody uses end after 90
	// seconds.
	restLimit = 2 * time.Minute
)

// TestSoak runs rounds. SOAK_SEED, SOAK_ROUND and SOAK_TIME say which.
func TestSoak(t *testing.T) {
	seed, first := number(t, seedVariable, "1"), int(number(t, roundVariable, "0"))
	during, err := time.ParseDuration(cmp.Or(os.Getenv(timeVariable), "0s"))
	if err != nil {
		t.Fatalf("%s=%s: use a duration such as 2m", timeVariable, os.Getenv(timeVariable))
	}
	s := newSoak(t, seed)
	s.must(s.until(t.Context(), "the nodes are known", s.settled))
	s.empty = s.cloud.Overview().Objects
	began, bases := time.Now(), baselines{}
	round := first
	for ; round < first+someRounds || time.Since(began) < during; round++ {
		if err := s.round(t.Context(), seed, round, bases); err != nil {
			begin := round
			if grown, is := errors.AsType[growth](err); is {
				begin = grown.since
			}
			t.Fatalf("round %d: %v\nTo repeat it: make soak %s=%d %s=%d %s=%s\nThe logs are in %s. What "+
				"happened in the round:\n  %s", round, err, seedVariable, seed, roundVariable, begin, timeVariable,
				max(time.Minute, time.Since(began)).Round(time.Second), s.evidence,
				strings.Join(draw(seed, round).describe(), "\n  "))
		}
	}
	s.proveChecks()
	fmt.Printf("%d rounds in %s: %s=%d, rounds %d to %d\n", round-first, time.Since(began).Round(time.Second),
		seedVariable, seed, first, round-1)
}

// number is the value of an environment variable.
func number(t *testing.T, variable, unset string) uint64 {
	t.Helper()
	text := cmp.Or(os.Getenv(variable), unset)
	value, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s=%s: use a whole number", variable, text)
	}
	return value
}

// round is one round. The cluster and the cloud are before and after it as they were in the beginning.
func (s *soak) round(ctx context.Context, seed uint64, number int, bases baselines) error {
	began := time.Now()
	for _, r := range s.replicas {
		r.recent = false
	}
	script := draw(seed, number)
	if err := s.disturb(script.faults); err != nil {
		return err
	}
	for _, one := range script.steps {
		if err := one.do(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		s.proceed(ctx)
	}
	fired := s.fired()
	s.cloud.ClearFaults()
	if err := s.until(ctx, "the cloud has what the Services ask for", s.settled); err != nil {
		return err
	}
	clear(s.vanished)
	served := time.Since(began)
	if err := s.disturb(script.later); err != nil {
		return err
	}
	if err := s.restore(ctx); err != nil {
		return err
	}
	s.proceed(ctx)
	fired += s.fired()
	s.cloud.ClearFaults()
	if err := s.until(ctx, "nothing is left in the cloud", s.cleared); err != nil {
		return err
	}
	emptied := time.Since(began)
	s.cloud.ResetCounters() // a log of all writes
	samples, err := s.rest(ctx, number, bases)
	fmt.Printf("round %d: %d faults, served %.1fs, emptied %.1fs, judged %.1fs; %v\n", number, fired, served.Seconds(),
		emptied.Seconds(), time.Since(began).Seconds(), samples)
	return err
}

// disturb injects faults.
func (s *soak) disturb(rules []fault.Rule) error {
	for _, rule := range rules {
		if _, err := s.cloud.Inject(rule); err != nil {
			return err
		}
	}
	return nil
}

// fired are the calls that the faults have disturbed.
func (s *soak) fired() (calls int) {
	for _, status := range s.cloud.Faults() {
		calls += status.Fired
	}
	return calls
}

// proceed waits until the managers have made some calls, or for a moment if they have nothing to do.
func (s *soak) proceed(ctx context.Context) {
	const calls = 10
	before := s.calls()
	_ = s.briefly(ctx, func(context.Context) error {
		if s.calls() < before+calls {
			return errors.New("they have not")
		}
		return nil
	})
}

func (s *soak) calls() (all int) {
	for _, n := range s.cloud.Counters() {
		all += n
	}
	return all
}

// briefly waits for a condition that may be false.
func (*soak) briefly(ctx context.Context, check func(context.Context) error) error {
	return poll.Limits{Every: 20 * time.Millisecond, For: 300 * time.Millisecond}.Until(ctx, "that is so", check)
}

// restore deletes all Services and further nodes, and brings the first nodes back.
func (s *soak) restore(ctx context.Context) error {
	for _, name := range serviceNames() {
		if err := s.remove(ctx, name); err != nil {
			return err
		}
	}
	for i, name := range allNodes() {
		change := s.join
		if i >= baseNodes {
			change = s.leave
		}
		if err := change(ctx, name); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		if err := s.changeNode(ctx, name, func(node *corev1.Node) {
			delete(node.Labels, corev1.LabelNodeExcludeBalancers)
			delete(node.Labels, poolLabel)
		}); err != nil {
			return err
		}
	}
	return nil
}

// rest wants the processes to need what they needed before, after a while. Those that were just started are not judged:
// the first undisturbed round makes them complete.
func (s *soak) rest(ctx context.Context, round int, bases baselines) (samples []sample, err error) {
	if restarts(round) {
		return nil, nil
	}
	limits := poll.Limits{Every: time.Second, For: restLimit}
	err = limits.Until(ctx, "the processes need what they needed before", func(ctx context.Context) error {
		if err := s.restartLost(); err != nil {
			return err
		}
		var errs []error
		samples = nil
		for _, r := range s.replicas {
			if r.recent { // it was started again
				continue
			}
			now, err := r.measure(ctx, true)
			if err == nil {
				now.round = round
				samples, err = append(samples, now), bases.judge(now)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	return samples, err
}
