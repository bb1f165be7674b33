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
