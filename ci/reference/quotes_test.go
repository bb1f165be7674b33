package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
)

// TestQuotes: what pages quote of the program, in blocks of the language "text", is what its code contains.
func TestQuotes(t *testing.T) {
	known, lines := fragments(t), 0
	for _, page := range filesBelow(t, "docs", ".md") {
		if strings.HasPrefix(page, checkout.Path(t, "docs")+"/emulator/") {
			continue // made from the emulator
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(string(content), -1) {
			for line := range strings.Lines(block[1]) {
				lines++
				if words := invented(line, known); len(words) > 0 {
					t.Errorf("%s quotes a text that the program does not have: %q", page, words)
				}
			}
		}
	}
	if lines == 0 {
		t.Error("no page quotes anything")
	}
}

// TestInventedQuotes: names and numbers may be any, and sentences not.
func TestInventedQuotes(t *testing.T) {
	known := []string{"this Service has no address", "The load balancer"}
	for line, want := range map[string]int{
		"Warning  Slow  4s  The load balancer lb-1 waits: this Service has no address": 0,
		"Warning  Slow  The load balancer is waiting for this address":                 1,
		"this Service has no address which it could publish; nothing else is known":    1,
	} {
		if words := invented(line, known); len(words) != want {
			t.Errorf("%q: %q, want %d", line, words, want)
		}
	}
}

// filesBelow returns the files below a folder of the checkout whose names end with a suffix.
func filesBelow(t *testing.T, folder, suffix string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(checkout.Path(t, folder), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, suffix) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// fragments returns the texts in the code of src that are printed as they are: those of at least two words, without
// verbs of formats.
func fragments(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, name := range filesBelow(t, "src", ".go") {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, checkout.Path(t, "src")+"/emulator/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, textsIn(file)...)
	}
	return found
}

// textsIn returns the fragments of all texts in a part of a program.
func textsIn(part ast.Node) []string {
	var found []string
	ast.Inspect(part, func(node ast.Node) bool {
		expression, is := node.(ast.Expr)
		if !is {
			return true
		}
		sum := operands(expression)
		found = append(found, printed(sum)...)
		if len(sum) == 1 {
			return true
		}
		for _, one := range sum {
			if _, literal := one.(*ast.BasicLit); !literal {
				found = append(found, textsIn(one)...)
			}
		}
		return false
	})
	return found
}

// operands returns the operands of a sum; those of another expression are the expression.
func operands(of ast.Expr) []ast.Expr {
	if sum, is := of.(*ast.BinaryExpr); is && sum.Op == token.ADD {
		return append(operands(sum.X), operands(sum.Y)...)
	}
	return []ast.Expr{of}
}

// printed returns the fragments of a sum of texts and other values.
func printed(sum []ast.Expr) []string {
	const value = "%v"
	var text strings.Builder
	for _, one := range sum {
		literal, is := one.(*ast.BasicLit)
		if !is || literal.Kind != token.STRING {
			text.WriteString(value)
			continue
		}
		unquoted, err := strconv.Unquote(literal.Value)
		if err != nil {
			return nil
		}
		text.WriteString(unquoted)
	}
	verbs := regexp.MustCompile(`%[-+#0-9*.\[\]]*[a-zA-Z%]`)
	return slices.DeleteFunc(verbs.Split(text.String(), -1), func(one string) bool {
		return len(strings.Fields(one)) < 2
	})
}

// mostOwnWords is the number of words in a row that a quote may have beside the texts of the program: names and states.
const mostOwnWords = 2

// invented returns the sequences of words of a line that no known text contains. Columns are separated by two spaces.
func invented(line string, known []string) []string {
	covered := make([]bool, len(line))
	for _, text := range known {
		text = strings.Trim(text, " .:;,\"()\n")
		for from := 0; text != ""; {
			at := strings.Index(line[from:], text)
			if at < 0 {
				break
			}
			begin, end := from+at, from+at+len(text)
			if !inWord(line, begin) && !inWord(line, end) {
				for i := begin; i < end; i++ {
					covered[i] = true
				}
			}
			from = end
		}
	}
	word := regexp.MustCompile(`^[("]?[A-Za-z]+[,.;:?)"]*$`)
	var all, run []string
	flush := func() {
		if len(run) > mostOwnWords {
			all = append(all, strings.Join(run, " "))
		}
		run = nil
	}
	last := 0
	for _, at := range regexp.MustCompile(`\S+`).FindAllStringIndex(line, -1) {
		own := word.MatchString(line[at[0]:at[1]]) && !lettersCovered(line, covered, at[0], at[1])
		if at[0] > last+1 || !own {
			flush()
		}
		if own {
			run = append(run, line[at[0]:at[1]])
		}
		last = at[1]
	}
	flush()
	return all
}

// lettersCovered reports whether all letters of a part of a line are covered.
func lettersCovered(line string, covered []bool, from, to int) bool {
	for i := from; i < to; i++ {
		if unicode.IsLetter(rune(line[i])) && !covered[i] {
			return false
		}
	}
	return true
}

// inWord reports whether the place in a line is inside of a word.
func inWord(line string, place int) bool {
	letter := func(at int) bool { return unicode.IsLetter(rune(line[at])) || unicode.IsDigit(rune(line[at])) }
	return place > 0 && place < len(line) && letter(place-1) && letter(place)
}
