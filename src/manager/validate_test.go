package manager

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// checking is a provider that finds the given problems, and says what it was asked.
func checking(name string, problems ...string) Provider {
	provider := failing(name, errors.New("started instead"))
	provider.Validate = func(path string, _ cloud.Environment, files bool) ([]byte, []string) {
		return fmt.Appendf(nil, "cloud: %s\nfiles: %t\npath: %s\n", name, files, path), problems
	}
	return provider
}

func TestValidate(t *testing.T) {
	one := []Provider{checking("first")}
	two := append(one, checking("second", "region: missing", "vpc: unknown key"))
	tests := map[string]struct {
		providers      []Provider
		args           []string
		stdout, stderr string
	}{
		"good": {one, []string{"c.yaml"}, "# c.yaml is a good configuration of first\n", ""},
		"printed": {one, []string{"c.yaml", "--print"},
			"# c.yaml is a good configuration of first\ncloud: first\nfiles: true\npath: c.yaml\n", ""},
		"alone": {one, []string{"c.yaml", "--print", "--without-files"},
			"# c.yaml is a good configuration of first\ncloud: first\nfiles: false\npath: c.yaml\n", ""},
		"of many": {two, []string{"--cloud-provider=first", "c.yaml"}, "# c.yaml is a good configuration of first\n",
			""},
		"bad": {two, []string{"--cloud-provider=second", "c.yaml", "--print"}, "",
			"c.yaml: region: missing\nc.yaml: vpc: unknown key\n"},
		"of the first": {two, []string{"c.yaml"}, "# c.yaml is a good configuration of first\n", ""},
		"which one": {two, []string{"c.yaml", "--cloud-provider="}, "",
			"Error: missing --cloud-provider: choose one of: first, second\n"},
		"unknown": {two, []string{"c.yaml", "--cloud-provider=third"}, "",
			"Error: unknown --cloud-provider=third: choose one of: first, second\n"},
		"cannot": {[]Provider{failing("first", nil)}, []string{"c.yaml"}, "",
			"Error: first cannot check its configuration without using it\n"},
		"no file":   {one, nil, "", "Error: got 0 files, want one: validate FILE\n"},
		"two files": {one, []string{"a", "b"}, "", "Error: got 2 files, want one: validate FILE\n"},
		"wrong flag": {one, []string{"--leader-elect"}, "",
			"Error: unknown flag: --leader-elect; cloud-controller-manager validate --help lists all flags\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := execute(t, test.providers, append([]string{"validate"}, test.args...)...)
			if stdout != test.stdout || stderr != test.stderr || (err != nil) != (test.stderr != "") {
				t.Errorf("error %v\nstdout:\n%s\nwant:\n%s\nstderr:\n%s\nwant:\n%s", err, stdout, test.stdout, stderr,
					test.stderr)
			}
		})
	}
}

func TestValidateHelp(t *testing.T) {
	stdout, _, err := execute(t, []Provider{checking("first")}, "validate", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cloud-controller-manager validate FILE", "--cloud-provider", `default "first"`,
		"--print", "--without-files", "exit code is then 1"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the help lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "--leader-elect") {
		t.Error("the help lists flags of the process")
	}
	if stdout, _, _ = execute(t, []Provider{checking("first")}, "--help"); !strings.Contains(stdout, "validate FILE") {
		t.Error("the help of the process does not name the subcommand")
	}
}

func TestNoOtherSubcommands(t *testing.T) {
	cmd := NewCommand(testBuild, checking("first"))
	cmd.SetArgs([]string{"validate", "--help"})
	cmd.SetOut(new(strings.Builder))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "validate" && sub.Name() != "help" {
			t.Errorf("there is a subcommand %s", sub.Name())
		}
	}
}

// broken is an output that cannot be written to.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestValidateSaysWhenItCannotPrint(t *testing.T) {
	provider := checking("first")
	for _, args := range [][]string{{"validate", "c.yaml"}, {"validate", "c.yaml", "--print"}} {
		cmd := NewCommand(testBuild, provider)
		cmd.SetArgs(args)
		cmd.SetOut(broken{})
		cmd.SetErr(new(strings.Builder))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%q: error %v, want that the output cannot be written", args, err)
		}
	}
}
