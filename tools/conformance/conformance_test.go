package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// spec is a test in a report of Ginkgo.
func spec(kind, container, name, state, message, attempts string) string {
	return `{"LeafNodeType": "` + kind + `", "ContainerHierarchyTexts": ["` + container + `"], ` +
		`"LeafNodeText": "` + name + `", "State": "` + state + `", ` +
		`"Failure": {"Message": "` + message + `"}, "NumAttempts": ` + attempts + "}"
}

func report(specs ...string) []byte {
	return []byte(`[{"SpecReports": [` + strings.Join(specs, ",") + `]}]`)
}

const container = "[sig-network] LoadBalancers [Feature:LoadBalancer]"

// TestResults: tests that were selected are sorted by their names without labels.
func TestResults(t *testing.T) {
	before := spec("SynchronizedBeforeSuite", "", "", "passed", "", "1")
	got, err := Results(report(before,
		spec("It", container, "should work [Slow]", "failed", "no answer", "1"),
		spec("It", container, "should be left out", "skipped", "", "0"),
		spec("It", container, "should be skipped", "skipped", "one node", "1")))
	want := []Result{
		{"LoadBalancers should be skipped", "skipped", "one node"},
		{"LoadBalancers should work", "failed", "no answer"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
}

// TestNoResults: a suite that could not begin has no results, not even good ones.
func TestNoResults(t *testing.T) {
	for want, content := range map[string][]byte{
		"no test ran": report(spec("It", container, "a", "skipped", "", "0")),
		"SynchronizedBeforeSuite failed: not ready": report(
			spec("SynchronizedBeforeSuite", "", "", "failed", "not ready", "1"),
			spec("It", container, "a", "passed", "", "1")),
		"reading the report": []byte("{"),
	} {
		if got, err := Results(content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v and error %v, want %q", got, err, want)
		}
	}
}

// documented writes a page with a table of results.
func documented(t *testing.T, rows string) []Row {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.md")
	page := "# Page\n\n" + header + "\n|---|---|---|\n" + rows + "\nText | with | bars | in it\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Table(path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCompare: what differs from the documentation is an error, with the reason.
func TestCompare(t *testing.T) {
	rows := documented(t, "| a | passed | |\n| b | failed | Because. The message contains \"timed out\". |\n"+
		"| c | skipped | so |\n")
	want := []Row{{Test: "a", Result: "passed"}, {Test: "b", Result: "failed", Message: "timed out",
		Reason: `Because. The message contains "timed out".`}, {Test: "c", Result: "skipped", Reason: "so"}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
	same := []Result{{Test: "a", State: "passed"}, {Test: "b", State: "failed", Message: "it timed out"},
		{Test: "c", State: "skipped", Message: "one node"}}
	if err := Compare(rows, same, true); err != nil {
		t.Errorf("the documented results: %v", err)
	}
	if err := Compare(rows, same[:1], false); err != nil {
		t.Errorf("a selection: %v", err)
	}
	got := Compare(rows, []Result{{Test: "a", State: "failed", Message: "no answer"}, {Test: "b", State: "passed"},
		{Test: "d", State: "passed"}}, true)
	wantErr := `a: failed, documented is "passed"; no answer
b: passed, documented is "failed"; it has no message
d: passed, documented is ""; it has no message
c: not run, documented is "skipped"`
	if got == nil || got.Error() != wantErr {
		t.Errorf("got %v, want %s", got, wantErr)
	}
	got = Compare(rows, []Result{{Test: "b", State: "failed", Message: "no answer"}}, false)
	wantErr = `b: failed, and the documented message contains "timed out"; no answer`
	if got == nil || got.Error() != wantErr {
		t.Errorf("another message: got %v, want %s", got, wantErr)
	}
}

// TestRender: the table of a run replaces the one in the documentation; a reason stays with its result.
func TestRender(t *testing.T) {
	rows := documented(t, "| a | failed | because |\n| b | failed | so |\n")
	got := Render(rows, []Result{{Test: "a", State: "failed"}, {Test: "b", State: "passed"}})
	if want := header + "\n|---|---|---|\n| a | failed | because |\n| b | passed | |\n"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if diff := cmp.Diff([]Row{{Test: "a", Result: "failed", Reason: "because"}, {Test: "b", Result: "passed"}},
		documented(t, strings.SplitN(got, "\n", 3)[2])); diff != "" {
		t.Errorf("it is read (-want +got):\n%s", diff)
	}
}

// TestPage: the documentation has the results, and a reason for each test that does not pass.
func TestPage(t *testing.T) {
	rows, err := Table(Page(repotest.Root(t, "docs/reference")))
	if err != nil || len(rows) < 17 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	for _, row := range rows {
		if (row.Result == "passed") != (row.Reason == "") || (row.Result == "failed") != (row.Message != "") {
			t.Errorf("%s: %s, and the reason is %q", row.Test, row.Result, row.Reason)
		}
	}
	if _, err := Table(checkout.Path(t, "README.md")); err == nil {
		t.Error("a document without a table has results")
	}
}

// TestVersionOfTheSuite: the tests are those of the Kubernetes that they test, and the page names it.
func TestVersionOfTheSuite(t *testing.T) {
	version := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(checkout.Path(t, path))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^\s*(?:require )?k8s\.io/kubernetes v(\S+)`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s does not require k8s.io/kubernetes", path)
		}
		return string(found[1])
	}
	suite := version("tools/conformance/suite/go.mod")
	if lab := version("tools/lab/go.mod"); suite != lab {
		t.Errorf("the suite is of %s, and the lab is %s", suite, lab)
	}
	page, err := os.ReadFile(Page(repotest.Root(t, "docs/reference")))
	if err != nil {
		t.Fatal(err)
	}
	named := "Kubernetes " + suite + ","
	for _, text := range []string{"from the Go modules of " + named, "\n" + named + " 20"} {
		if !strings.Contains(string(page), text) {
			t.Errorf("the page has no %q", text)
		}
	}
}
