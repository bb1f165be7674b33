package main

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/lab/multicall/multicalltest"
)

func TestMain(m *testing.M) { multicalltest.Main(m, main) }

func TestComponentsAreThemselves(t *testing.T) { multicalltest.Components(t, components()) }

func TestFlagErrorsEndWithAStatus(t *testing.T) { multicalltest.FlagErrors(t, "kube-proxy") }
