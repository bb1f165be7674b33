package trial

import (
	"fmt"
	"math/rand/v2"
)

// inARow is how many calls a fault that lasts befalls.
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

// faults are all faults at each of the calls, and those that can last at each
// and the two after it.
func faults(calls []call) []disturbance {
	var all []disturbance
	for i, c := range calls {
		for _, kind := range kinds() {
			if kind.befalls == nil || kind.befalls(c) {
				all = append(all, kind.at(i+1, c)...)
			}
		}
	}
	return all
}

// at are the fault at the nth call alone and, if it can last, at the next ones.
func (f *fault) at(n int, c call) []disturbance {
	all := []disturbance{single(f, n, 1, c)}
	if f.lasts {
		all = append(all, single(f, n, inARow, c))
	}
	return all
}

// single is one fault at the nth call, and at the next ones if times is more
// than 1.
func single(f *fault, n, times int, c call) disturbance {
	name := f.name
	if times > 1 {
		name += "-repeatedly"
	}
	return disturbance{
		name: fmt.Sprintf("%s-%02d-%s", name, n, c.label()), certain: true,
		at: func(m int, _ call) *fault {
			if m >= n && m < n+times {
				return f
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

// chaos are disturbances of any call, one for each seed from 1.
func chaos(seeds int) []disturbance {
	var all []disturbance
	for seed := 1; seed <= seeds; seed++ {
		all = append(all, disturbance{name: fmt.Sprintf("seed-%d", seed), at: anything(uint64(seed))})
	}
	return all
}

// anything draws a chance and a choice of faults once, and for each call
// whether one of them befalls it.
func anything(seed uint64) func(int, call) *fault {
	random := rand.New(rand.NewPCG(seed, 0))
	chance := leastChance + random.Float64()*(mostChance-leastChance)
	choice := mixture(random)
	return func(n int, _ call) *fault {
		if n > chaosCalls || random.Float64() >= chance {
			return nil
		}
		return choice[random.IntN(len(choice))]
	}
}

// mixture is some of the faults, at least one. Crashes and lies exclude each
// other: nobody who just started can doubt a list that looks true.
func mixture(random *rand.Rand) []*fault {
	all := kinds()
	if random.IntN(2) == 0 {
		all = append(honest(all), deaths()...)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+random.IntN(len(all))]
}

func honest(all []*fault) []*fault {
	var kept []*fault
	for _, f := range all {
		if !f.lies {
			kept = append(kept, f)
		}
	}
	return kept
}
