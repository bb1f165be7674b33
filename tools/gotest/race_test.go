package gotest

import (
	"errors"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	absent := errors.New("no compiler here")
	tests := map[string]struct {
		setting  string
		required bool
		compiler error
		want     Detector
		err      string
	}{
		"automatic with a compiler": {setting: "auto", want: Own},
		"automatic without":         {setting: "auto", compiler: absent},
		"automatic without in CI": {setting: "auto", required: true, compiler: absent,
			err: "no compiler here; install gcc"},
		"asked for":                    {setting: "1", want: Everywhere},
		"asked for without":            {setting: "1", compiler: absent, err: "no compiler here; install gcc"},
		"refused":                      {setting: "0"},
		"refused in CI":                {setting: "0", required: true},
		"something else than a number": {setting: "yes", err: `"yes": set it to 1, 0 or auto`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := decide(tt.setting, tt.required, func() error { return tt.compiler })
			if got != tt.want || !matches(err, tt.err) {
				t.Errorf("got %v and %v, want %v and %q", got, err, tt.want, tt.err)
			}
		})
	}
}

// matches tells whether an error says what it should; "" stands for none.
func matches(err error, says string) bool {
	if says == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), says)
}

func TestCompile(t *testing.T) {
	tests := map[string]struct {
		cc   []string
		want string
	}{
		"accepts":  {[]string{"true"}, ""},
		"rejects":  {[]string{"false"}, `trying the C compiler "false"`},
		"complain": {[]string{"sh", "-c", "echo no stdlib.h >&2; echo more >&2; exit 1"}, "exit status 1 no stdlib.h"},
		"missing":  {[]string{"no-such-compiler"}, `"no-such-compiler"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := compile(t.Context(), tt.cc); !matches(err, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRaceAsksGo(t *testing.T) {
	t.Setenv("CC", "no-such-compiler")
	if got, err := Race(t.Context(), "auto", false); got != Nowhere || err != nil {
		t.Errorf("got %v and %v, want no race detector and no error", got, err)
	}
	if _, err := Race(t.Context(), "1", false); !matches(err, "install gcc") {
		t.Errorf("got %v, want an error that says what to install", err)
	}
}
