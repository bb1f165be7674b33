package build

import (
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestNothingIsMadeUp(t *testing.T) {
	got := Current()
	if want := (Info{Version: "devel", Revision: "unknown", Committed: "unknown"}); got != want {
		t.Errorf("a build that nobody told anything says %+v, want %+v", got, want)
	}
	if want := "devel (built outside git: revision and time are unknown)"; got.String() != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

func TestString(t *testing.T) {
	info := Info{Version: "v1.2.3", Revision: "0123abc-dirty", Committed: "2026-11-21T10:00:00Z"}
	if want := "v1.2.3 (revision 0123abc-dirty of 2026-11-21T10:00:00Z)"; info.String() != want {
		t.Errorf("String() = %q, want %q", info, want)
	}
	if want := "v1.2.3 (0123abc-dirty; 2026-11-21T10:00:00Z)"; info.Agent() != want {
		t.Errorf("Agent() = %q, want %q", info.Agent(), want)
	}
}

func TestRef(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v0.1.0-alpha.1": "v0.1.0-alpha.1", "v1.2.3-rc-1.x": "v1.2.3-rc-1.x",
		"devel": "main", "0123abc": "main", "v1.2": "main", "1.2.3": "main", "v1.2.3/../x": "main",
		"v1.2.3-5-g0123abc": "main", "v1.2.3-rc.1-5-g0123abc": "main",
		"v1.2.3-dirty": "main", "v1.2.3-5-g0123abc-dirty": "main",
	} {
		if got := (Info{Version: version}).Ref(); got != want {
			t.Errorf("the sources of %s are at %s, want %s", version, got, want)
		}
	}
}

func TestCollector(t *testing.T) {
	info := Info{Version: "v1.2.3", Revision: "0123abc", Committed: "2026-11-21T10:00:00Z"}
	want := `# HELP some_program_build_info Build of the program. The value is always 1.
# TYPE some_program_build_info gauge
some_program_build_info{committed="2026-11-21T10:00:00Z",go_version="` + runtime.Version() + `",revision="0123abc",version="v1.2.3"} 1
`
	if err := testutil.CollectAndCompare(info.Collector("some_program"), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
