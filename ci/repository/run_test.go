package repository

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// stand is a folder in which ci/run.sh runs with stand-ins for the programs that it starts.
type stand struct {
	root, log string
	programs  []string // that ci/e2e-setup.sh installs
}

// script reads a script of ci.
func script(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repotest.Root(t), "ci", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// newStand makes stand-ins for the setup scripts and for make, which log that they ran, and for what makes an ordinary
// user's account and clone. make also logs as whom it ran and which programs of ci/e2e-setup.sh it found.
func newStand(t *testing.T) stand {
	t.Helper()
	s := stand{root: t.TempDir()}
	s.log = filepath.Join(s.root, "log")
	setup := "need() { :; }\n"
	for _, need := range regexp.MustCompile(`(?m)^need (\S+) (\S+)$`).FindAllStringSubmatch(script(t, "e2e-setup.sh"),
		-1) {
		setup += need[0] + "\n"
		if need[2] != "util-linux" && need[2] != "mount" { // which a Debian base has
			s.programs = append(s.programs, need[1])
		}
	}
	write(t, s.root, map[string]string{
		"ci/run.sh":                     script(t, "run.sh"),
		"ci/setup.sh":                   "echo setup >>" + s.log,
		"ci/e2e-setup.sh":               setup + "echo e2e-setup >>" + s.log,
		"home/README":                   "",
		"modules/cache/download/README": "",
	})
	programs := map[string]string{
		"getent":  "echo thalassa-ci:x:1:1::" + s.root + "/home:",
		"go":      "echo " + s.root + "/modules",
		"id":      `case "$*" in -u) echo "$FAKE_ID" ;; *) echo 1234 ;; esac`,
		"setpriv": "while [ \"${1#--}\" != \"$1\" ]; do shift; done\nFAKE_ID=1234 exec \"$@\"",
		"install": `for last; do :; done; mkdir -p "$last"`,
		"make":    s.make(),
	}
	for _, name := range append([]string{"flock", "git", "chown", "useradd"}, s.programs...) {
		programs[name] = ":"
	}
	for name, text := range programs {
		file := filepath.Join(s.root, "bin", name)
		write(t, s.root, map[string]string{"bin/" + name: "#!/bin/sh\n" + text + "\n"})
		if err := os.Chmod(file, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// make is the stand-in for make. Every stage that runs tests prints the same closing line, and $FAKE_FAILURE is a stage
// that fails. $FAKE_WAIT is a stage that goes on for a minute.
func (s stand) make() string {
	return `for program in ` + strings.Join(s.programs, " ") + `; do
	command -v "$program" >/dev/null && found="$found $program"
done
echo "make as $FAKE_ID: $* |$found" >>` + s.log + `
case $* in *' STAGE=verify '*) pwd >>` + s.log + `.verify ;; esac
for word; do case "$*:$word" in
*' STAGE=test '*:SUMMARY=* | *' STAGE=test-root '*:SUMMARY=* | *' STAGE=e2e '*:SUMMARY=*)
	printf '%s\n' '5 passed, 0 failed, 1 skipped, 39 need root (make test-root)' '   70.5s  example.com/b' '    9.0s  example.com/a' \
		>"${word#SUMMARY=}" ;;
*":STAGE=$FAKE_FAILURE") exit 2 ;;
*":STAGE=$FAKE_WAIT") echo $$ >` + s.log + `.$FAKE_WAIT; exec sleep 60 ;;
esac; done`
}

// run runs ci/run.sh as a user, with a stage that fails. It returns what was logged and printed.
func (s stand) run(t *testing.T, user, failure string) (log []string, output string, err error) {
	t.Helper()
	printed, err := s.command(t, user, "FAKE_FAILURE="+failure).CombinedOutput()
	text, readErr := os.ReadFile(s.log)
	if readErr != nil {
		t.Fatalf("%v\n%s", readErr, printed)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), strings.TrimSpace(string(printed)), err
}

func (s stand) command(t *testing.T, user, setting string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(s.root, "ci/run.sh"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(s.root, "bin")+":"+os.Getenv("PATH"),
		"CI_CACHE="+filepath.Join(s.root, "cache"), "TMPDIR="+t.TempDir(), "FAKE_ID="+user, setting)
	return cmd
}

// TestFreshMachineFirst: the commands that README names run before anything is installed for the rest, and do not find
// what is installed already.
func TestFreshMachineFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		user  string
		fresh []string
		next  string
	}{
		"root": {"0", []string{
			"make as 1234: stage STAGE=demo ", "make as 1234: stage STAGE=test ",
			"make as 1234: stage STAGE=verify ", "make as 0: stage STAGE=test-as-root ",
		}, "e2e-setup"},
		"user": {"1000", []string{"make as 1000: stage STAGE=demo ", "make as 1000: stage STAGE=test ",
			"make as 1000: stage STAGE=verify "},
			"make as 1000: stage STAGE=build "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			log, output, err := s.run(t, tt.user, "")
			if err != nil || len(log) < len(tt.fresh)+3 {
				t.Fatalf("%v\n%s", err, output)
			}
			if log[0] != "setup" {
				t.Errorf("first comes %q, want ci/setup.sh", log[0])
			}
			for i, want := range tt.fresh {
				if got := log[i+1]; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "|") {
					t.Errorf("then comes %q, want %q without the programs of ci/e2e-setup.sh", got, want)
				}
			}
			rest := log[len(tt.fresh)+1:]
			if !strings.HasPrefix(rest[0], tt.next) {
				t.Errorf("after the demo and the tests comes %q, want %s", rest[0], tt.next)
			}
			if all := strings.Join(s.programs, " "); !strings.HasSuffix(rest[1], "| "+all) {
				t.Errorf("%q finds other programs than %s", rest[1], all)
			}
		})
	}
}

// TestVerifiesInOneFolder: the linters run in the same folder in each run, because their cache contains absolute paths.
func TestVerifiesInOneFolder(t *testing.T) {
	s := newStand(t)
	for range 2 {
		if _, output, err := s.run(t, "0", ""); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	folders, err := os.ReadFile(s.log + ".verify")
	if want := strings.Repeat(filepath.Join(s.root, "home", "clone")+"\n", 2); err != nil || string(folders) != want {
		t.Errorf("make verify ran in %q (%v), want %q", folders, err, want)
	}
}

// TestRunEndsWithACount: what needs root counts as skipped, unless make test-root ran it.
func TestRunEndsWithACount(t *testing.T) {
	for name, tt := range map[string]struct{ user, failure, want string }{
		"root":               {"0", "", "15 passed, 0 failed, 3 skipped"},
		"user":               {"1000", "", "5 passed, 0 failed, 40 skipped"},
		"a stage that fails": {"1000", "bench", "5 passed, 1 failed, 40 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			_, output, err := newStand(t).run(t, tt.user, tt.failure)
			last := output[strings.LastIndex(output, "\n")+1:]
			if last != tt.want || (err != nil) != (tt.failure != "") {
				t.Errorf("it ends with %q and %v, want %q\n%s", last, err, tt.want, output)
			}
		})
	}
}

// TestRunKeepsTables: how long stages and packages took, slowest first, is printed and kept in dist/ci.
func TestRunKeepsTables(t *testing.T) {
	s := newStand(t)
	_, output, err := s.run(t, "0", "bench")
	if err == nil {
		t.Error("a stage failed, and ci/run.sh did not")
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(s.root, "dist", "ci", name))
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		return string(text)
	}
	const one, other = "   70.5s  example.com/b\n", "    9.0s  example.com/a\n"
	packages, stages := read("packages.txt"), read("stages.txt")
	if want := strings.Repeat(one, 3) + strings.Repeat(other, 3); packages != want {
		t.Errorf("packages are\n%swant\n%s", packages, want)
	}
	for _, want := range []string{`(?m)^ +\d+s  bench  FAILED$`, `(?m)^ +\d+s  e2e  ok$`, `\n +\d+s  total\n$`} {
		if !regexp.MustCompile(want).MatchString(stages) {
			t.Errorf("stages are\n%swant a line %s", stages, want)
		}
	}
	if !strings.Contains(output, packages) || !strings.Contains(output, stages) {
		t.Errorf("the tables are not printed:\n%s", output)
	}
}

// TestInterruptedRunLeavesNothing: a stage that runs ends with ci/run.sh, also one that runs beside another.
func TestInterruptedRunLeavesNothing(t *testing.T) {
	for _, stage := range []string{"demo", "e2e", "soak"} {
		t.Run(stage, func(t *testing.T) {
			s := newStand(t)
			cmd := s.command(t, "0", "FAKE_WAIT="+stage)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := 0
			err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true,
				func(context.Context) (bool, error) {
					text, _ := os.ReadFile(s.log + "." + stage)
					pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
					return pid != 0, nil
				})
			if err != nil {
				t.Errorf("waiting until the stage runs: %v", err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
				t.Errorf("it ended with %v, want 130", err)
			}
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the stage has not ended: %v", err)
			}
		})
	}
}

// TestStages: .ci/run and GitHub's workflow run the same stages, which the Makefile defines.
func TestStages(t *testing.T) {
	log, output, _ := newStand(t).run(t, "0", "")
	root := repotest.Root(t)
	stages := func(text, pattern string) []string {
		var names []string
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
		slices.Sort(names)
		return names
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := stages(read("Makefile"), `(?m)^stage_(\S+) :=`)
	if diff := cmp.Diff(want, stages(strings.Join(log, "\n"), `\bSTAGE=(\S+)`)); diff != "" || len(want) == 0 {
		t.Errorf("stages (-Makefile +ci/run.sh):\n%s\n%s", diff, output)
	}
	if diff := cmp.Diff(want, stages(read(".github/workflows/checks.yaml"), `\bSTAGE=(\S+)`)); diff != "" {
		t.Errorf("stages (-Makefile +checks.yaml):\n%s", diff)
	}
}

// TestSetupInstallsNothingForTheRest: with a program that only ci/e2e-setup.sh should install, no test would show that
// make test needs it.
func TestSetupInstallsNothingForTheRest(t *testing.T) {
	setup := script(t, "setup.sh")
	for _, program := range newStand(t).programs {
		if regexp.MustCompile(`(?m)^\s*need ` + regexp.QuoteMeta(program) + ` `).MatchString(setup) {
			t.Errorf("ci/setup.sh installs %s, which only ci/e2e-setup.sh should", program)
		}
	}
}
