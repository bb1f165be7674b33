package page

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

func get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return answer
}

func TestFiles(t *testing.T) {
	for path, want := range map[string]string{
		Root: "text/html; charset=utf-8", Folder + "page.css": "text/css; charset=utf-8",
		Folder + "page.js": "text/javascript; charset=utf-8", Folder + "icon.svg": "image/svg+xml",
		Folder + "faults.json": "application/json",
	} {
		answer := get(t, path)
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != want || answer.Body.Len() == 0 {
			t.Errorf("%s: status %d, type %q, %d bytes, want 200 and %s", path, answer.Code,
				answer.Header().Get("Content-Type"), answer.Body.Len(), want)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; " +
				"frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if got := answer.Header().Get(name); got != want {
				t.Errorf("%s: header %s is %q, want %q", path, name, got, want)
			}
		}
	}
	for _, path := range []string{Folder, Folder + "page.go", Folder + "../page.go"} {
		if got := get(t, path).Code; got != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, got)
		}
	}
}

// read returns a file of the page.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// matches are the first groups of all matches.
func matches(text, pattern string) (all []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

func TestNothingOutside(t *testing.T) {
	for name, forbidden := range map[string]string{
		"page.html": `(//|<style|<script>|\sstyle=|\son[a-z]+=)`, "page.css": `(//|@import|url\()`,
		"page.js": `(https?:|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\bimport\b)`,
	} {
		if found := matches(read(t, name), forbidden); len(found) > 0 {
			t.Errorf("%s contains %q: the page uses nothing of other hosts, nothing inline, and names only as text",
				name, found)
		}
	}
	for _, file := range matches(read(t, "page.html"), `(?:src|href)="([^"#][^"]*)"`) {
		known := []string{"/_emulator/overview", "/_emulator/writes", "/_emulator/metrics"}
		if !slices.Contains(known, file) && get(t, file).Code != http.StatusOK {
			t.Errorf("page.html refers to %s, which is not served", file)
		}
	}
}

func TestElements(t *testing.T) {
	html, script := read(t, "page.html"), read(t, "page.js")
	ids := matches(html, `\sid="([^"]+)"`)
	used := matches(script, `\$\('([^']+)'\)`)
	for _, name := range matches(script, `\blist\('([^']+)'`) {
		used = append(used, name, name+"-more", name+"-empty")
	}
	for _, list := range matches(html, `aria-(?:labelledby|describedby)="([^"]+)"`) {
		used = append(used, strings.Fields(list)...)
	}
	if len(used) < 40 {
		t.Fatalf("only %d uses of elements were found", len(used))
	}
	for _, id := range used {
		if !slices.Contains(ids, id) {
			t.Errorf("page.html has no element %q", id)
		}
	}
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) < len(ids) {
		t.Errorf("an id is used twice: %q", ids)
	}
	if heads := matches(html, `(<th\b)`); len(heads) != len(matches(html, `(<th scope="col")`)) {
		t.Error("a header of a table lacks its scope")
	}
}

// TestFaults checks that every kind of fault has one switch, which is a rule that can be set.
func TestFaults(t *testing.T) {
	var known []struct {
		Name, Help string
		Effect     json.RawMessage
	}
	if err := json.Unmarshal([]byte(read(t, "faults.json")), &known); err != nil {
		t.Fatal(err)
	}
	var kinds []fault.Kind
	for _, one := range known {
		var rule fault.Rule
		if err := json.Unmarshal([]byte(`{"effect": `+string(one.Effect)+`}`), &rule); err != nil {
			t.Fatal(err)
		}
		if err := rule.Validate(); err != nil || one.Name == "" || !strings.HasSuffix(one.Help, ".") {
			t.Errorf("%s: %v; want a name, a sentence and a valid effect", one.Effect, err)
		}
		kinds = append(kinds, rule.Effect.Kind)
	}
	want := fault.Kinds()
	slices.Sort(kinds)
	slices.Sort(want)
	if !slices.Equal(kinds, want) {
		t.Errorf("the page has switches for %q, want one for each of %q", kinds, want)
	}
}
