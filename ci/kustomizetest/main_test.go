package kustomizetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

// roleEnv makes this test binary be the cloud controller manager.
const roleEnv = "KUSTOMIZETEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" {
		os.Exit(beManager())
	}
	controlplanetest.Main(m)
}

// beManager is the program that the image contains. It is ended by a signal.
func beManager() int {
	provider := manager.Provider{
		Name: thalassa.ProviderName, New: thalassa.New("v0.0.0-test", os.Getenv), Validate: thalassa.Validate(os.Getenv),
	}
	if err := manager.NewCommand(build.Info{Version: "v0.0.0-test"}, provider).ExecuteContext(context.Background()); err != nil {
		return 1
	}
	return 0
}

// program returns an executable that is the cloud controller manager: pods bring an environment of their own, so that the role
// cannot come from there.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "thalassa-cloud-controller-manager")
	script := fmt.Sprintf("#!/bin/sh\nexec env %s=1 '%s' \"$@\"\n", roleEnv, self)
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}
