package emulator_test

import (
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/command"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

func readme(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestReadmeHasEveryFlag(t *testing.T) {
	text := readme(t)
	known := map[string]bool{}
	check := func(flag *pflag.Flag) {
		known[flag.Name] = true
		if !strings.Contains(text, "--"+flag.Name) {
			t.Errorf("README.md lacks --%s: %s", flag.Name, flag.Usage)
		}
	}
	program := command.New("")
	program.Flags().VisitAll(check)
	for _, part := range program.Commands() {
		part.Flags().VisitAll(check)
	}
	for _, match := range regexp.MustCompile("--([a-z][a-z0-9-]+)").FindAllStringSubmatch(text, -1) {
		if !known[match[1]] {
			t.Errorf("README.md mentions --%s, which does not exist", match[1])
		}
	}
}

func TestReadmeHasEverySwitch(t *testing.T) {
	text := readme(t)
	for _, group := range []reflect.Type{reflect.TypeFor[emulator.Switches](), reflect.TypeFor[emulator.Delays]()} {
		for field := range group.Fields() {
			if name := group.Name() + "." + field.Name; !strings.Contains(text, "`"+name+"`") {
				t.Errorf("README.md lacks %s", name)
			}
		}
	}
}

func TestReadmeSeedWorks(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	seed, err := emulator.ReadSeed(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := emulator.NewDescribed(t, emulator.Config{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	request := newRequest(t, "GET", "/v1/machines", "")
	request.Header.Set("Authorization", "Token demo-token")
	if body := serve(e, request).Body.String(); strings.Count(body,
		`"machineType"`) != len(seed.Organisations[0].Machines) {
		t.Errorf("machines %s, want those of the seed", body)
	}
}

func TestReadmeHasEveryKindOfFault(t *testing.T) {
	text := readme(t)
	for _, kind := range fault.Kinds() {
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + string(kind) + "`[^|]* \\| (yes|no|later) \\|").MatchString(text) {
			t.Errorf("README.md lacks kind %s, or whether it is handled", kind)
		}
	}
}

func TestReadmeFaultsWork(t *testing.T) {
	text := readme(t)
	blocks := strings.Split(text, "```yaml\n")
	list, _, _ := strings.Cut(blocks[2], "```")
	rules, err := fault.ReadRules(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "--fault='")
	flag, _, _ := strings.Cut(rest, "'")
	rule, err := fault.Parse(flag)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != 1 || rules[0] != rule {
		t.Errorf("the file says %+v, the flag %+v", rules, rule)
	}
}

func TestReadmeHasTheDefaults(t *testing.T) {
	text := readme(t)
	for _, value := range []string{
		emulator.DefaultOrganisation, emulator.DefaultOrganisationSlug, emulator.DefaultToken, emulator.DefaultClientID,
		emulator.DefaultClientSecret, emulator.DefaultRegion, emulator.DefaultVPC, emulator.DefaultSubnet,
		emulator.DefaultServiceAccount, emulator.DefaultOwner, emulator.DefaultSubject, emulator.DefaultAudience,
	} {
		if !strings.Contains(text, "`"+value+"`") {
			t.Errorf("README.md lacks %s", value)
		}
	}
}

// What the README says is missing is missing, and what it says is served is not.
func TestReadmeSaysWhatIsMissing(t *testing.T) {
	c := newCloud(t)
	_, rest, _ := strings.Cut(readme(t), "| Resource | Operations |")
	served, rest, _ := strings.Cut(rest, "| Service | Paths that answer 501 |")
	missing, _, _ := strings.Cut(rest, "\n\n")
	for _, table := range []struct {
		text, column string
		answered     bool
	}{{served, `(?m)^\|([^|]+)\|`, true}, {missing, `(?m)^\|[^|]+\|([^|]+)\|`, false}} {
		for _, row := range regexp.MustCompile(table.column).FindAllStringSubmatch(table.text, -1) {
			for _, path := range regexp.MustCompile("`(/v1/[^`]+)`").FindAllStringSubmatch(row[1], -1) {
				found := false
				for _, method := range []string{"GET", "POST"} {
					status, _, _ := c.call(t, method, strings.NewReplacer("{", "", "}", "").Replace(path[1]), "")
					found = found || status != http.StatusNotImplemented
				}
				if found != table.answered {
					t.Errorf("README.md says that %s is served: %t, but it is %t", path[1], table.answered, found)
				}
			}
		}
	}
}

// The guide for Go tests adds this module.
func TestGoGuideNamesTheModule(t *testing.T) {
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(checkout.Path(t, "docs/guides/emulator-go-tests.md"))
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(string(module), "module "), "\n")
	if want := "\ngo get " + name + "@main\n"; !strings.Contains(string(guide), want) {
		t.Errorf("docs/guides/emulator-go-tests.md lacks %q", want)
	}
}
