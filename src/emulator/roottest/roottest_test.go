package roottest

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// recorder is a test that notes how it ends.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) { r.said = "skipped: " + fmt.Sprint(args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.said = "failed: " + fmt.Sprintf(format, args...)
}

func TestNeed(t *testing.T) {
	for name, tt := range map[string]struct{ required, want string }{
		"any run":        {"", "skipped: needs make test-root: "},
		"make test-root": {"1", "failed: this test cannot run: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(Variable, tt.required)
			t.Setenv("PATH", t.TempDir())
			r := &recorder{TB: t}
			Need(r, "nft")
			if !strings.HasPrefix(r.said, tt.want) || !strings.Contains(r.said, "the program nft is missing") {
				t.Errorf("Need: %q, want %q and the missing program", r.said, tt.want)
			}
		})
	}
}

func TestLacking(t *testing.T) {
	onlyThat := func(name string) (string, error) {
		if name == "that" {
			return "/bin/that", nil
		}
		return "", fs.ErrNotExist
	}
	for name, tt := range map[string]struct {
		user     int
		programs []string
		want     []string
	}{
		"root":             {0, nil, nil},
		"root and program": {0, []string{"that"}, nil},
		"no root":          {1000, []string{"that"}, []string{"this is user 1000 and not root"}},
		"no programs": {
			0, []string{"this", "that", "other"},
			[]string{"the program this is missing", "the program other is missing"},
		},
		"nothing": {7, []string{"this"}, []string{"this is user 7 and not root", "the program this is missing"}},
	} {
		if got := lacking(tt.user, onlyThat, tt.programs); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
