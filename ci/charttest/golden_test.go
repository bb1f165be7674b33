package charttest

import (
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// updateFlag makes the tests write the golden renders under testdata anew.
const updateFlag = "update"

func TestMain(m *testing.M) {
	// Thousands of renders leave nothing behind, and the default collects all the time. The limit is for machines with
	// little memory.
	const percent, limit = 400, 1 << 30
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(limit)
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged // several processes run in this one
	flag.Bool(updateFlag, false, "write the golden renders under testdata anew")
	controlplanetest.Main(m)
}

func TestGolden(t *testing.T) {
	for name, path := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			wantGolden(t, name, chartDir(t), release(readValues(t, path)))
		})
	}
}

// wantGolden compares a render and its notes with the files of that name.
func wantGolden(t *testing.T, name, dir string, r chart.Release) {
	t.Helper()
	text, notes, err := render(t, dir, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(text); err != nil {
		t.Error(err)
	}
	golden(t, name+".yaml", text)
	golden(t, name+".notes.txt", notes)
}

// golden compares text with the file in testdata, or replaces the file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if flag.Lookup(updateFlag).Value.String() == "true" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(readFile(t, path), text); diff != "" {
		t.Errorf("%s differs (-want +got); if that is meant, run the test with -update:\n%s", path, diff)
	}
}

func TestGoldenFilesAreUsed(t *testing.T) {
	var want []string
	for name := range valuesFiles(t) {
		want = append(want, name+".yaml", name+".notes.txt")
	}
	for name := range CSI.ValuesFiles(t) {
		want = append(want, csiGolden(name)+".yaml", csiGolden(name)+".notes.txt")
	}
	slices.Sort(want)
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in testdata (-want +got):\n%s", diff)
	}
}
