package release

import (
	"strings"
	"testing"
)

const changelog = `# Changelog

## [Unreleased]

## [1.1.0] - 2026-12-01

### Fixed

- More.

## [1.0.0] - 2026-11-21

### Added

- Everything.
`

func TestNotes(t *testing.T) {
	for version, want := range map[string]string{
		"v1.1.0": "### Fixed\n\n- More.\n", "1.0.0": "### Added\n\n- Everything.\n",
	} {
		if got, err := Notes(changelog, version); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
	for version, want := range map[string]string{"v2.0.0": "no heading", "Unreleased": "is empty"} {
		if _, err := Notes(changelog, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", version, err, want)
		}
	}
}

// TestNotesAreReadElsewhere, where links that are relative lead nowhere.
func TestNotesAreReadElsewhere(t *testing.T) {
	got := absolute("See [docs](docs/a.md#b), [there](https://example.com/x) and [here](#c).", "", "v1.0.0")
	want := "See [docs](https://github.com/thalassa-cloud/thalassa-ccm/blob/v1.0.0/docs/a.md#b), " +
		"[there](https://example.com/x) and [here](#c)."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
