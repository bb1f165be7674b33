package faulttest

import (
	"fmt"
	"math/rand/v2"
)

// inARow is how many calls a failure mode that lasts applies to: a client that repeats its request
// at once gets over one and must not take the third for the truth.
const inARow = 3

// crashes are the ends of the process at each of the calls.
func crashes(calls []call) []disturbance {
	var all []disturbance
	for i, c := range calls {
		for _, death := range deaths() {
			all = append(all, single(death, i+1, 1, c))
		}
	}
	return all
}

// handovers are the changes of processes at each of the calls.
func handovers(calls []call) []disturbance {
	var all []disturbance
	for i, c := range calls {
		all = append(all, single(relief(), i+1, 1, c))
	}
	return all
}

// faults are all failure modes at each of the calls, and at each and the two after it.
func faults(calls []call) []disturbance {
	var all []disturbance
	for i, c := range calls {
		for _, m := range failureModes() {
			if m.appliesTo(c) {
				all = append(all, single(m, i+1, 1, c), single(m, i+1, inARow, c))
			}
		}
	}
	return all
}

// sample is n of the disturbances, or all when there are not more, drawn from a
// seed. They keep their order.
func sample(all []disturbance, n int, seed uint64) []disturbance {
	if n >= len(all) {
		return all
	}
	drawn := make([]bool, len(all))
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n] {
		drawn[i] = true
	}
	chosen := make([]disturbance, 0, n)
	for i, d := range all {
		if drawn[i] {
			chosen = append(chosen, d)
		}
	}
	return chosen
}

// single is one failure mode at the nth call, and at the next ones if times is more
// than 1.
func single(m *failureMode, n, times int, c call) disturbance {
	name := m.name
	if times > 1 {
		name += "-repeatedly"
	}
	return disturbance{
		name: fmt.Sprintf("%s-%02d-%s", name, n, c.label()), certain: true,
		at: func(nth int, _ call) *failureMode {
			if nth >= n && nth < n+times {
				return m
			}
			return nil
		},
	}
}

// What chaos is made of. It ends after a number of calls, so that the work can.
const (
	chaosCalls  = 100
	leastChance = 0.05
	mostChance  = 0.4
)

// chaos are disturbances of any call, one for each seed after the first ones
// that are skipped.
func (s Scenario) chaos(seeds int) []disturbance {
	var all []disturbance
	for n := range uint64(seeds) {
		seed := s.Skip + n + 1
		all = append(all, disturbance{name: fmt.Sprintf("seed-%d", seed), at: anything(seed, s.Overlap)})
	}
	return all
}

// anything draws a chance and a choice of failure modes once, and for each call
// whether one of them applies to it.
func anything(seed uint64, overlap bool) func(int, call) *failureMode {
	random := rand.New(rand.NewPCG(seed, 0))
	chance := leastChance + random.Float64()*(mostChance-leastChance)
	choice := mixture(random, overlap)
	return func(n int, _ call) *failureMode {
		if n > chaosCalls || random.Float64() >= chance {
			return nil
		}
		return choice[random.IntN(len(choice))]
	}
}

// mixture is some of the failure modes, crashes and handovers, at least one.
func mixture(random *rand.Rand, overlap bool) []*failureMode {
	all := append(append(failureModes(), deaths()...), relief())
	if overlap {
		all = append(all, overtaking())
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+random.IntN(len(all))]
}
