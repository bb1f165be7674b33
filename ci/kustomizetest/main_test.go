package kustomizetest

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }
