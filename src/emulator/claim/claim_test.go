package claim_test

import (
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/claim"
)

func TestNetworksAreClaimed(t *testing.T) {
	first, holdFirst, err := claim.Network(claim.Auto)
	if err != nil {
		t.Fatal(err)
	}
	second, holdSecond, err := claim.Network("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holdSecond.Close() }()
	if first == second {
		t.Errorf("%s was claimed twice", first)
	}
	for name, network := range map[string]string{
		"in use": first.String(), "not loopback": "10.0.0.0/16", "not a prefix": "x",
		"system's own": "127.0.0.0/16", "wrong size": "127.64.0.0/17", "not masked": "127.64.0.1/16",
	} {
		if _, hold, err := claim.Network(network); err == nil {
			t.Errorf("%s: %s was claimed", name, network)
			_ = hold.Close()
		}
	}
	if err := holdFirst.Close(); err != nil {
		t.Fatal(err)
	}
	_, again, err := claim.Network(first.String())
	if err != nil {
		t.Fatalf("claiming a released network: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
