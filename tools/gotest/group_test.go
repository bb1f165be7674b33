package gotest

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// divided is a module with a package below src, one whose tests are smaller with the race detector, and one in tools.
func divided(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module sample\n\ngo 1.26.0\n",
		"src/a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(*testing.T) {}\n",
		"src/big/size_test.go": "//go:build !race\n\npackage big\n\nimport \"testing\"\n\nfunc " +
			"TestBig(*testing.T) {}\n",
		"src/big/size_race_test.go": "//go:build race\n\npackage big\n\nimport \"testing\"\n\nfunc " +
			"TestSmall(*testing.T) {}\n",
		"tools/b/b_test.go":          "package b\n\nimport \"testing\"\n\nfunc TestB(*testing.T) {}\n",
		"tools/sources/src/in/in.go": "package in\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestGroups(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := divided(t)
	all := []string{"./..."}
	raced := group{[]string{"sample/src/a", "sample/src/big"}, true}
	for name, tt := range map[string]struct {
		race     Detector
		packages []string
		want     []group
	}{
		"nowhere":    {Nowhere, all, []group{{all, false}}},
		"everywhere": {Everywhere, all, []group{{all, true}}},
		"our own": {Own, all,
			[]group{raced, {[]string{"sample/src/big", "sample/tools/b", "sample/tools/sources/src/in"}, false}}},
		"src":             {Own, []string{"./src/a"}, []group{{[]string{"sample/src/a"}, true}}},
		"not in src":      {Own, []string{"./tools/..."}, []group{{[]string{"./tools/..."}, false}}},
		"no such package": {Own, []string{"./missing"}, []group{{[]string{"./missing"}, false}}},
		"several": {Own, []string{"./tools/b", "./src/a"}, []group{{[]string{"sample/src/a"}, true},
			{[]string{"sample/tools/b"}, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Options{Dir: dir, Packages: tt.packages, Race: tt.race, Out: io.Discard}.groups(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(group{})); diff != "" {
				t.Errorf("groups differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGroupsAreOneRun: what is tested twice counts twice, and the times say how each package was tested.
func TestGroupsAreOneRun(t *testing.T) {
	t.Setenv("GOWORK", "off")
	race, err := Race(t.Context(), "auto", false)
	if err != nil {
		t.Fatal(err)
	}
	with := race == Own // without a C compiler, everything is one group
	passed := 3
	if with {
		passed = 4
	}
	var out strings.Builder
	got, err := Run(t.Context(), Options{Dir: divided(t), Packages: []string{"./..."}, Race: race, Out: &out})
	if err != nil || got.Tally != (Tally{Passed: passed}) {
		t.Errorf("got %+v and %v, want %d tests that passed\n%s", got.Tally, err, passed, &out)
	}
	times := map[PackageTime]bool{}
	for _, one := range got.Times {
		one.Seconds = 0
		times[one] = true
	}
	want := map[PackageTime]bool{
		{Package: "sample/src/a", Race: with}: true, {Package: "sample/src/big", Race: with}: true,
		{Package: "sample/src/big"}: true, {Package: "sample/tools/b"}: true,
	}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("times differ (-want +got):\n%s", diff)
	}
	checkText(t, out.String(), []string{strconv.Itoa(passed) + " passed, 0 failed in "}, nil)
}
