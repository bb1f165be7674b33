package load_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/thalassa-cloud/thalassa-ccm/ci/load"
)

var errCut = errors.New("cut")

// at is a time of these tests, in milliseconds.
func at(milliseconds int) time.Time {
	return time.Unix(0, 0).UTC().Add(time.Duration(milliseconds) * time.Millisecond)
}

// example has the attempts in the order in which they ended, which is not that in which they began.
func example() load.Report {
	return load.Report{
		Attempts: []load.Attempt{
			{Began: at(0), Ended: at(1), Target: "one"},
			{Began: at(200), Ended: at(201), Target: "two", Err: errCut},
			{Began: at(100), Ended: at(202), Target: "two"},
			{Began: at(300), Ended: at(310), Err: errCut},
			{Began: at(400), Ended: at(401), Target: "two"},
		},
		Streams: []load.Stream{
			{Target: "one", Began: at(0), Echoes: 9},
			{Target: "two", Began: at(0), Ended: at(200), Err: errCut, Echoes: 4},
			{Target: "three", Began: at(250), Ended: at(300), Err: errCut},
		},
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestSince(t *testing.T) {
	r := example()
	for name, test := range map[string]struct {
		begin    int
		attempts []load.Attempt
		streams  []load.Stream
	}{
		"from the beginning":     {0, r.Attempts, r.Streams},
		"what began then counts": {200, []load.Attempt{r.Attempts[1], r.Attempts[3], r.Attempts[4]}, r.Streams},
		"what broke before not": {201, []load.Attempt{r.Attempts[3], r.Attempts[4]},
			[]load.Stream{r.Streams[0], r.Streams[2]}},
		"what still lives counts": {1000, nil, r.Streams[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.Since(at(test.begin))
			same(t, "attempts", test.attempts, got.Attempts)
			same(t, "streams", test.streams, got.Streams)
		})
	}
	same(t, "the report itself", example(), r)
}

func TestReport(t *testing.T) {
	r := example()
	same(t, "failures", []load.Attempt{r.Attempts[1], r.Attempts[3]}, r.Failures())
	same(t, "targets", map[string]int{"one": 1, "two": 2}, r.Targets())
	same(t, "pace", 10.0, r.Pace())
	same(t, "pace of one attempt", 0.0, load.Report{Attempts: r.Attempts[:1]}.Pace())
	same(t, "the report itself", example(), r)
}

func TestText(t *testing.T) {
	want := `5 connections, 10 a second, 2 failed; 3 streams, 2 broke; by target map[one:1 two:2]
00:00:00.200 to 00:00:00.201, target "two": cut
00:00:00.300 to 00:00:00.310, target "": cut
stream to "two" from 00:00:00.000, 4 echoes, broke at 00:00:00.200: cut
stream to "three" from 00:00:00.250, 0 echoes, broke at 00:00:00.300: cut`
	same(t, "report", want, example().String())
	same(t, "attempt", `00:00:00.000 to 00:00:00.001, target "one": succeeded`, example().Attempts[0].String())
	same(t, "stream", `stream to "one" from 00:00:00.000, 9 echoes, alive`, example().Streams[0].String())
	many := load.Report{Attempts: make([]load.Attempt, 50)}
	for i := range many.Attempts {
		many.Attempts[i].Err = errCut
	}
	if got := strings.Count(many.String(), "\n"); got != 5 {
		t.Errorf("%d failures are listed, want the first five:\n%s", got, many)
	}
}
