package testrun

import (
	"errors"
	"os"
	"path/filepath"
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

// matches reports whether an error says what it should; "" stands for none.
func matches(err error, says string) bool {
	if says == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), says)
}

// TestRaceTriesTheCompiler: it may be missing, or lack the headers of the C library.
func TestRaceTriesTheCompiler(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "cc")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho 'no stdlib.h' >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for cc, want := range map[string]string{"no-such-compiler": "no-such-compiler", broken: "no stdlib.h"} {
		t.Setenv("CC", cc)
		if got, err := Race(t.Context(), "auto", false); got != Nowhere || err != nil {
			t.Errorf("%s: got %v and %v, want no race detector and no error", cc, got, err)
		}
		if _, err := Race(t.Context(), "1", false); !matches(err, want) || !matches(err, "install gcc") {
			t.Errorf("%s: got %v, want an error with %q that says what to install", cc, err, want)
		}
	}
}
