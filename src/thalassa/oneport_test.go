package thalassa

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
)

// onePortVariable is what a process of TestOnePort does: "start" or "make".
const onePortVariable = "ONE_PORT"

// The most that may run for one port.
const (
	mostFunctions = 397
	mostFiles     = 84
	mostPackages  = 15
)

// sourceModule is the module whose functions are counted.
const sourceModule = "github.com/thalassa-cloud/thalassa-ccm/src"

// TestOnePort counts the functions, files and packages of src that run while the provider makes a load balancer for a
// Service with one TCP port and one Node: what somebody has to read to follow it. What starting runs does not count,
// nor do the emulator and what only tests use. It compiles src with counters, so that it is in the full tier.
func TestOnePort(t *testing.T) {
	if part := os.Getenv(onePortVariable); part != "" {
		synctest.Test(t, func(t *testing.T) { runOnePort(t, part) })
		return
	}
	tier.NeedFull(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "counted.test")
	output, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-covermode=set",
		"-coverpkg="+sourceModule+"/...", "-o="+program, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("compiling with counters: %v\n%s", err, output)
	}
	starting, making := functionsOfPart(t, program, "start"), functionsOfPart(t, program, "make")
	files, packages := map[string]bool{}, map[string]bool{}
	functions := 0
	for name, file := range making {
		if _, started := starting[name]; !started {
			functions++
			files[file], packages[path.Dir(file)] = true, true
		}
	}
	t.Logf("one port: %d functions in %d files of %d packages", functions, len(files), len(packages))
	for _, one := range []struct {
		what        string
		got, atMost int
	}{
		{"functions", functions, mostFunctions}, {"files", len(files), mostFiles},
		{"packages", len(packages), mostPackages},
	} {
		if one.got > one.atMost {
			t.Errorf("%d %s run for one port, want at most %d", one.got, one.what, one.atMost)
		}
	}
}

// runOnePort makes a provider and a Node, and a load balancer if that is the part.
func runOnePort(t *testing.T, part string) {
	t.Helper()
	l := newLab(t, emulator.Config{})
	nodes := l.nodes("a")
	if part == "make" {
		l.settle(service("web", 80), nodes)
	}
}

// functionsOfPart returns the functions that ran in a part, as "file:line", with their files, relative to src.
func functionsOfPart(t *testing.T, program, part string) map[string]string {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile.txt")
	command := exec.CommandContext(t.Context(), program, "-test.run=^TestOnePort$", "-test.coverprofile="+profile)
	command.Env = append(os.Environ(), onePortVariable+"="+part)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("part %s: %v\n%s", part, err, output)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	ran, declared := map[string]string{}, map[string][]*ast.FuncDecl{}
	set := token.NewFileSet()
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		file, line, is := blockThatRan(lines.Text())
		if !is || strings.HasPrefix(file, "emulator/") || strings.HasPrefix(file, "controller/conformance/") {
			continue
		}
		if _, known := declared[file]; !known {
			declared[file] = functionsOf(t, set, file)
		}
		for _, function := range declared[file] {
			if begin := set.Position(function.Pos()).Line; begin <= line && line <= set.Position(function.End()).Line {
				ran[fmt.Sprintf("%s:%d", file, begin)] = file
			}
		}
	}
	return ran
}

// blockThatRan returns the file and the first line of a block of a profile, such as "module/a.go:5.2,7.3 1 4".
func blockThatRan(block string) (file string, line int, is bool) {
	place, counts, _ := strings.Cut(block, " ")
	name, from, _ := strings.Cut(place, ":")
	file, is = strings.CutPrefix(name, sourceModule+"/")
	if !is || strings.HasSuffix(counts, " 0") {
		return "", 0, false
	}
	_, err := fmt.Sscanf(from, "%d.", &line)
	return file, line, err == nil
}

func functionsOf(t *testing.T, set *token.FileSet, file string) (found []*ast.FuncDecl) {
	t.Helper()
	parsed, err := parser.ParseFile(set, filepath.Join("..", filepath.FromSlash(file)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range parsed.Decls {
		if function, is := one.(*ast.FuncDecl); is {
			found = append(found, function)
		}
	}
	return found
}
