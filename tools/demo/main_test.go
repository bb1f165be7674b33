package demo

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

// roleVariable makes the test binary be a demo, so that a test can kill it.
const roleVariable = "THALASSA_DEMO_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		controlplanetest.Main(m)
		return
	}
	root, err := repo.Root()
	if err == nil {
		err = Run(context.Background(), Options{Root: root, Output: os.Stdout})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
