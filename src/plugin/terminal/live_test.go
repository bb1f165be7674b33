package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLive: each tick draws again, and a key ends the view and restores the terminal.
func TestLive(t *testing.T) {
	for name, key := range map[string]string{"q": "q", "another key, then Ctrl-C": "x\x03"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				keys, press := io.Pipe()
				restored, drawn, began := 0, 0, time.Now()
				screen := Terminal{In: keys, Out: &out, Size: func() (int, int) { return 80, 3 },
					Raw: func() (func(), error) { return func() { restored++ }, nil }}
				ticker := time.NewTicker(time.Second)
				defer ticker.Stop()
				go func() {
					<-time.After(2500 * time.Millisecond)
					_, _ = press.Write([]byte(key))
				}()
				err := screen.Live(t.Context(), ticker.C, func(_ context.Context, to Terminal) error {
					drawn++
					to.Print("one\ntwo\nthree\nfour\n")
					return nil
				})
				if err != nil || drawn != 3 || restored != 1 || time.Since(began) != 2500*time.Millisecond {
					t.Errorf("error %v, drawn %d, restored %d after %s", err, drawn, restored, time.Since(began))
				}
				const frame = home + "one\x1b[K\r\ntwo\x1b[K\r\n… 2 more lines\x1b[K\x1b[J"
				if got, want := out.String(), enterScreen+strings.Repeat(frame, 3)+leaveScreen; got != want {
					t.Errorf("got\n%q\nwant\n%q", got, want)
				}
			})
		})
	}
}

// TestLiveEnds: the end of the context is no error, and a failure is one. Both restore the terminal.
func TestLiveEnds(t *testing.T) {
	failure := errors.New("no answer")
	var out bytes.Buffer
	screen := Terminal{In: strings.NewReader(""), Out: &out, Raw: func() (func(), error) {
		return func() { out.WriteString("restored") }, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	if err := screen.Live(ctx, nil, func(context.Context, Terminal) error { cancel(); return failure }); err != nil {
		t.Errorf("error %v after the context ended", err)
	}
	err := screen.Live(t.Context(), nil, func(context.Context, Terminal) error { return failure })
	if !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	if got, want := out.String(), strings.Repeat(enterScreen+leaveScreen+"restored", 2); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	screen.Raw = func() (func(), error) { return nil, failure }
	if err := screen.Live(t.Context(), nil, nil); !errors.Is(err, failure) || !strings.Contains(err.Error(), "--once") {
		t.Errorf("error %v, want %v and what to do", err, failure)
	}
}
