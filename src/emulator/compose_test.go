package emulator_test

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/command"
)

// The compose file starts the image that tools/image makes, with flags that exist, and publishes its port where the
// documents expect the emulator.
func TestComposeFile(t *testing.T) {
	content, err := os.ReadFile("../../examples/emulator/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Image          string
			Command, Ports []string
		}
	}
	if err := yaml.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	service := file.Services["emulator"]
	flags := command.New("").Flags()
	if err := flags.Parse(service.Command); err != nil {
		t.Errorf("command %q: %v", service.Command, err)
	}
	listen, _ := flags.GetString("listen")
	if plain, _ := flags.GetBool("allow-plain-http"); !plain {
		t.Error("the command lacks --allow-plain-http, without which the image does not start")
	}
	_, port, _ := strings.Cut(listen, ":")
	published := strings.TrimPrefix(defaultEndpoint(t), "http://")
	if want := published + ":" + port; len(service.Ports) != 1 || service.Ports[0] != want {
		t.Errorf("ports %q, want %q", service.Ports, want)
	}
	programs, err := os.ReadFile("../../tools/image/program.go")
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(service.Image[strings.LastIndex(service.Image, "/")+1:], ":")
	for _, part := range []string{`Repository: "` + name + `"`, `"--listen=` + listen + `"`} {
		if !strings.Contains(string(programs), part) {
			t.Errorf("image %s: tools/image/program.go lacks %s", service.Image, part)
		}
	}
}

// The commands in the guide for CI have flags that exist, and the version of Go is the one that the emulator needs.
func TestCIGuide(t *testing.T) {
	content, err := os.ReadFile("../../docs/guides/emulator-ci.md")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	starts, versions := 0, 0
	for _, block := range strings.Split(string(content), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		var job struct {
			Steps []struct {
				Run  string
				With map[string]string
			}
		}
		if err := yaml.Unmarshal([]byte(block), &job); err != nil {
			t.Fatalf("%v:\n%s", err, block)
		}
		for _, step := range job.Steps {
			if version := step.With["go-version"]; version != "" {
				versions++
				if !strings.Contains(string(module), "\ngo "+version+".") {
					t.Errorf("Go %s is not what go.mod needs", version)
				}
			}
			if program, flags, found := strings.Cut(step.Run, "thalassa-emulator "); found {
				starts++
				checkCommand(t, program, strings.TrimSuffix(flags, " &"))
			}
		}
	}
	if starts != 1 || versions != 1 {
		t.Errorf("the guide starts the emulator %d times, and has %d versions of Go", starts, versions)
	}
}

// checkCommand checks a command that runs the emulator from a checkout.
func checkCommand(t *testing.T, program, flags string) {
	t.Helper()
	folder := "../../" + strings.TrimPrefix(program, "go run ./") + "thalassa-emulator"
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("%q runs what does not exist: %v", program, err)
	}
	if err := command.New("").Flags().Parse(strings.Fields(flags)); err != nil {
		t.Errorf("flags %q: %v", flags, err)
	}
}
