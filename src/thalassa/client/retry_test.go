package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
)

// script answers calls one after the other by the given answers, and the rest by the last one; it remembers when they
// came.
type script struct {
	answers []func(http.ResponseWriter, *http.Request)
	at      []time.Time
	bodies  []string
}

func (s *script) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := s.answers[min(len(s.at), len(s.answers)-1)]
	s.at = append(s.at, time.Now())
	if request.Body != nil {
		body, _ := io.ReadAll(request.Body)
		s.bodies = append(s.bodies, string(body))
	}
	if answer == nil {
		return nil, errors.New("connection reset by peer")
	}
	return handlerNetwork(answer).RoundTrip(request)
}

func (s *script) client(t *testing.T) *Client {
	t.Helper()
	return connect(t, Options{Network: s})
}

func answer(status int, body string, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		sendJSON(w, status, body)
	}
}

// TestRepeatsOnlyWhatIsSafe: a creation that may have happened is never made again, all else is.
func TestRepeatsOnlyWhatIsSafe(t *testing.T) {
	get := func(ctx context.Context, c *Client) error {
		_, err := Get[iaas.Vpc](ctx, c, iaas.VpcEndpoint+"/vpc-1")
		return err
	}
	put := func(ctx context.Context, c *Client) error {
		_, err := Put[iaas.Vpc](ctx, c, iaas.VpcEndpoint+"/vpc-1",
			iaas.UpdateVpc{Name: "x", VpcCidrs: []string{"10.0.0.0/8"}})
		return err
	}
	remove := func(ctx context.Context, c *Client) error { return Delete(ctx, c, iaas.LoadbalancerEndpoint+"/lb-1") }
	create := func(ctx context.Context, c *Client) error {
		_, err := Post[iaas.VpcLoadbalancer](ctx, c, iaas.LoadbalancerEndpoint, iaas.CreateLoadbalancer{Name: "x",
			Subnet: "s"})
		return err
	}
	attach := func(ctx context.Context, c *Client) error {
		_, err := Post[thing](ctx, c, iaas.TargetGroupEndpoint+"/tg-1/attachments",
			iaas.TargetGroupAttachmentsBatch{TargetGroupID: "tg-1", Attachments: []iaas.AttachTarget{}})
		return err
	}
	down, busy, refused, good := answer(503, `{}`), answer(429, `{}`), answer(400, `{}`),
		answer(200, `{"identity": "x"}`)
	notFound, conflict := answer(404, `{}`), answer(409, `{}`)
	tests := []struct {
		name   string
		do     func(context.Context, *Client) error
		answer func(http.ResponseWriter, *http.Request) // the first one; nil: the connection breaks
		calls  int
	}{
		{"GET, server error", get, down, 2},
		{"GET, no answer", get, nil, 2},
		{"GET, half an answer", get, answer(200, `{"iden`), 2},
		{"GET, throttled", get, busy, 2},
		{"GET, not found", get, notFound, 1},
		{"GET, refused", get, refused, 1},
		{"PUT, server error", put, down, 2},
		{"PUT, no answer", put, nil, 2},
		{"PUT, throttled", put, busy, 2},
		{"PUT, conflict", put, conflict, 1},
		{"DELETE, server error", remove, down, 2},
		{"DELETE, no answer", remove, nil, 2},
		{"creation, server error", create, down, 1},
		{"creation, no answer", create, nil, 1},
		{"creation, half an answer", create, answer(201, `{"iden`), 1},
		{"creation, throttled: it did not happen", create, busy, 2},
		{"creation, refused", create, refused, 1},
		{"whole set of attachments, server error", attach, down, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []func(http.ResponseWriter, *http.Request){tt.answer, good}}
				err := tt.do(t.Context(), s.client(t))
				if len(s.at) != tt.calls || (err == nil) != (tt.calls == 2) {
					t.Errorf("%d calls, error %v; want %d calls", len(s.at), err, tt.calls)
				}
				if len(s.bodies) == 2 && s.bodies[0] != s.bodies[1] {
					t.Errorf("the second call sends %q and not %q", s.bodies[1], s.bodies[0])
				}
			})
		})
	}
}

// TestDialFailureIsRepeated: what could not be sent has not happened, whatever it is.
func TestDialFailureIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := connect(t, Options{Network: networkFunc(func(r *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			return handlerNetwork(answer(201, `{"identity": "lb-1"}`)).RoundTrip(r)
		})})
		if _, err := Post[iaas.VpcLoadbalancer](t.Context(), c, iaas.LoadbalancerEndpoint,
			iaas.CreateLoadbalancer{Name: "x", Subnet: "s"}); err != nil || calls != 2 {
			t.Errorf("%d calls, error %v; want 2 and success", calls, err)
		}
	})
}

type networkFunc func(*http.Request) (*http.Response, error)

func (f networkFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAttemptsAreBoundedAndSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(http.ResponseWriter, *http.Request){answer(500, `{"message": "oops"}`)}}
		_, err := Get[iaas.Vpc](t.Context(), s.client(t), iaas.VpcEndpoint+"/vpc-1")
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "oops") || len(s.at) != maxAttempts {
			t.Fatalf("%d calls, error %v; want %d and the cloud's words", len(s.at), err, maxAttempts)
		}
		least := 100 * time.Millisecond
		for i := 1; i < len(s.at); i++ {
			if pause := s.at[i].Sub(s.at[i-1]); pause < least || pause > 2*least {
				t.Errorf("pause %d is %s, want %s to %s", i, pause, least, 2*least)
			}
			least *= 3
		}
	})
}

// TestRetryAfter: what the cloud asks for counts, for all calls of the process; a worker does not sleep through a long
// one.
func TestRetryAfter(t *testing.T) {
	tests := map[string]struct {
		header string
		calls  int
		after  time.Duration // that the error tells
	}{
		"short":        {"3", 2, 0},
		"a date":       {"date", 2, 0},
		"long":         {"60", 1, time.Minute},
		"absurd":       {"86400", 1, maxRetryAfter},
		"not a number": {"soon", 2, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				header, waits := tt.header, tt.header == "3" || tt.header == "date"
				if header == "date" {
					header = time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)
				}
				s := &script{answers: []func(http.ResponseWriter, *http.Request){
					answer(429, `{}`, "Retry-After", header), answer(200, `{"identity": "x"}`)}}
				_, err := Get[iaas.Vpc](t.Context(), s.client(t), iaas.VpcEndpoint+"/vpc-1")
				if len(s.at) != tt.calls || RetryAfter(err) != tt.after {
					t.Errorf("%d calls, then %s; want %d and %s", len(s.at), RetryAfter(err), tt.calls, tt.after)
				}
				if waits && s.at[1].Sub(s.at[0]) < 3*time.Second {
					t.Errorf("the second call came after %s", s.at[1].Sub(s.at[0]))
				}
			})
		})
	}
}

// TestRetryAfterDate counts from the Date of the answer: both are of the cloud's clock.
func TestRetryAfterDate(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	in := func(after time.Duration) string { return now.Add(after).Format(http.TimeFormat) }
	for name, tt := range map[string]struct {
		date, retryAfter string
		want             time.Duration
	}{
		"same clock":                   {in(0), in(7 * time.Second), 7 * time.Second},
		"the cloud is ahead":           {in(time.Hour), in(time.Hour + 7*time.Second), 7 * time.Second},
		"the cloud is behind":          {in(-time.Hour), in(7*time.Second - time.Hour), 7 * time.Second},
		"the clock here is years off":  {in(30000 * time.Hour), in(30000*time.Hour + 7*time.Second), 7 * time.Second},
		"before the answer":            {in(time.Minute), in(30 * time.Second), 0},
		"very long":                    {in(time.Hour), in(3 * time.Hour), maxRetryAfter},
		"seconds need no date":         {in(time.Hour), "7", 7 * time.Second},
		"without a Date":               {"", in(7 * time.Second), 7 * time.Second},
		"without a Date, long ago":     {"", in(-time.Hour), 0},
		"the Date is no date":          {"yesterday", in(7 * time.Second), 7 * time.Second},
		"the Date is absurd":           {"Thu, 01 Jan 1970 00:00:00 GMT", in(7 * time.Second), 7 * time.Second},
		"the Date is absurdly far off": {"Fri, 31 Dec 9999 23:59:59 GMT", in(7 * time.Second), 7 * time.Second},
	} {
		header := http.Header{"Retry-After": {tt.retryAfter}, "Date": {tt.date}}
		if got := retryAfter(header, now); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestLongPauseHoldsForAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(http.ResponseWriter, *http.Request){answer(429, `{}`, "Retry-After", "60"),
			answer(200, `{"identity": "x"}`)}}
		c := s.client(t)
		if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, ErrThrottled) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Second)
		_, err := List(t.Context(), c, iaas.VpcEndpoint, nil, identityOf)
		want := "GET /v1/vpcs: throttled: not tried: the cloud asked for a pause for another 40s; it is retried in 40s"
		if !errors.Is(err, ErrThrottled) || err.Error() != want || RetryAfter(err) != 40*time.Second || len(s.at) != 1 {
			t.Errorf("during the pause: %d calls, %v\nwant %s", len(s.at), err, want)
		}
		<-time.After(40 * time.Second)
		if _, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1"); err != nil {
			t.Errorf("after the pause: %v", err)
		}
	})
}

// TestDeadlineCoversAllAttempts: a call never takes longer than its deadline, whatever fails.
func TestDeadlineCoversAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(http.ResponseWriter, *http.Request){answer(500, `{}`),
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}}
		c := s.client(t)
		began := time.Now()
		_, err := Get[iaas.Vpc](t.Context(), c, iaas.VpcEndpoint+"/vpc-1")
		if took := time.Since(began); !errors.Is(err, ErrUnavailable) || took != DefaultCallTimeout {
			t.Errorf("after %s: %v; want %s", took, err, DefaultCallTimeout)
		}
		if want := "no answer within 30s"; !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	})
}

// TestCallerWhoGivesUpSaysNothingAboutTheCloud.
func TestCallerWhoGivesUpSaysNothingAboutTheCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func(http.ResponseWriter, *http.Request){func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}}}
		c := s.client(t)
		for range 2 * outageAfter {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-time.After(time.Second); cancel() }()
			if _, err := Get[iaas.Vpc](ctx, c, iaas.VpcEndpoint+"/vpc-1"); !errors.Is(err, context.Canceled) {
				t.Fatalf("error = %v", err)
			}
		}
		if c.Err() != nil || len(s.at) != 2*outageAfter {
			t.Errorf("Err() = %v after %d calls", c.Err(), len(s.at))
		}
	})
}

// TestUncertain: only what may have happened is uncertain.
func TestUncertain(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   bool
	}{
		"no answer":     {nil, true},
		"server error":  {answer(500, `{}`), true},
		"half":          {answer(201, `{"iden`), true},
		"refused":       {answer(400, `{}`), false},
		"not permitted": {answer(403, `{}`), false},
		"over quota":    {answer(403, `{"message": "quota reached"}`), false},
		"conflict":      {answer(409, `{}`), false},
		"throttled":     {answer(429, `{}`, "Retry-After", "60"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []func(http.ResponseWriter, *http.Request){tt.answer}}
				_, err := Post[thing](t.Context(), s.client(t), "/v1/things", thing{Identity: "a"})
				if err == nil || Uncertain(err) != tt.want {
					t.Errorf("Uncertain(%v) = %v", err, Uncertain(err))
				}
			})
		})
	}
	if Uncertain(nil) {
		t.Error("success is uncertain")
	}
}

// FuzzRetryAfter: no answer makes this process wait for ever, nor come back before now.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	for _, seed := range []string{
		"", "0", "90", "-1", "1e3", "0x10", "+5", "99999999999999999999", "Sun, 01 Mar 2026 12:01:00 GMT",
		"Sunday, 01-Mar-26 12:01:00 GMT",
		"Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		pause := retryAfter(http.Header{"Retry-After": {value}}, now)
		if pause < 0 || pause > maxRetryAfter {
			t.Errorf("Retry-After: %s makes a pause of %s", value, pause)
		}
		if seconds, err := strconv.ParseUint(value, 10, 8); err == nil && pause != time.Duration(seconds)*time.Second {
			t.Errorf("Retry-After: %s makes a pause of %s", value, pause)
		}
	})
}
