package emulator_test

import (
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/command"
)

// service is a service of Docker Compose or of GitHub Actions.
type service struct {
	Image                   string
	Command, Ports, Volumes []string
	Env                     map[string]string
	Healthcheck             struct{ Test []string }
}

// image is what tools/image says about the image of the emulator.
func image(t *testing.T) string {
	t.Helper()
	programs, err := os.ReadFile(checkout.Path(t, "tools/image/program.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(programs)
}

// quoted are texts as a list in Go has them.
func quoted(texts ...string) string {
	for i, text := range texts {
		texts[i] = strconv.Quote(text)
	}
	return strings.Join(texts, ", ")
}

// The compose file starts the image that tools/image makes, with flags that exist, and publishes its port where the
// documents expect the emulator. It has the health check of the image, and keeps the state in the folder of the image
// that is writable.
func TestComposeFile(t *testing.T) {
	content, err := os.ReadFile(checkout.Path(t, "examples/emulator/compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Services, Volumes map[string]service }
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
	state, _ := flags.GetString("state")
	volume, folder, _ := strings.Cut(strings.Join(service.Volumes, ","), ":")
	if _, declared := file.Volumes[volume]; !declared || path.Dir(state) != folder {
		t.Errorf("the state is in %q, and the volumes are %q of %v", state, service.Volumes, file.Volumes)
	}
	reference, found := strings.CutPrefix(service.Image, "${EMULATOR_IMAGE:-")
	reference, closed := strings.CutSuffix(reference, "}")
	if !found || !closed {
		t.Errorf("image %s, want one that EMULATOR_IMAGE replaces", service.Image)
	}
	name, _, _ := strings.Cut(path.Base(reference), ":")
	test := service.Healthcheck.Test
	for _, part := range []string{"Repository: " + quoted(name), quoted("--listen=" + listen),
		"{" + quoted(folder) + "}", "{" + quoted(test[1:]...) + "}"} {
		if test[0] != "CMD" || !strings.Contains(image(t), part) {
			t.Errorf("image %s with health check %q: tools/image/program.go lacks %s", service.Image, test, part)
		}
	}
}

// The commands in the guide for CI have flags that exist, and the version of Go is the one that the emulator needs.
func TestCIGuide(t *testing.T) {
	content, err := os.ReadFile(checkout.Path(t, "docs/guides/emulator-ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	starts, versions, services := 0, 0, 0
	for _, block := range strings.Split(string(content), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		var job struct {
			Steps []struct {
				Run  string
				With map[string]string
			}
			Services map[string]service
		}
		if err := yaml.Unmarshal([]byte(block), &job); err != nil {
			t.Fatalf("%v:\n%s", err, block)
		}
		for _, service := range job.Services {
			services++
			checkService(t, service)
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
	if starts != 1 || versions != 1 || services != 1 {
		t.Errorf("the guide starts the emulator %d times, has %d versions of Go, and %d services", starts, versions,
			services)
	}
}

// checkService checks a service of GitHub Actions: without arguments, the image listens on its own port, and needs a
// variable to serve HTTP there.
func checkService(t *testing.T, s service) {
	t.Helper()
	_, port, _ := strings.Cut(strings.Join(s.Ports, ","), ":")
	if !strings.Contains(image(t), quoted("--listen=0.0.0.0:"+port)) {
		t.Errorf("ports %q are not those of the image", s.Ports)
	}
	flags := command.New("").Flags()
	for name, value := range s.Env {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "THALASSA_EMULATOR_"), "_", "-"))
		if err := flags.Set(flag, value); err != nil {
			t.Errorf("variable %s: %v", name, err)
		}
	}
	if plain, _ := flags.GetBool("allow-plain-http"); !plain {
		t.Errorf("with the variables %v, the image does not start", s.Env)
	}
}

// checkCommand checks a command that runs the emulator from a checkout.
func checkCommand(t *testing.T, program, flags string) {
	t.Helper()
	folder := checkout.Path(t, strings.TrimPrefix(program, "go run ./")+"thalassa-emulator")
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("%q runs what does not exist: %v", program, err)
	}
	if err := command.New("").Flags().Parse(strings.Fields(flags)); err != nil {
		t.Errorf("flags %q: %v", flags, err)
	}
}
