//go:build linux

package cluster

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// cut is a network that cannot be made.
type cut struct{ emulator.DataPlane }

func (cut) Network() netip.Prefix      { return netip.Prefix{} }
func (cut) Wire(traffic.Network) error { return errors.New("nft: no such table") }
func (cut) Close() error               { return nil }

// TestReportsProblemsOfTheNetwork: Progress gets problems only.
func TestReportsProblemsOfTheNetwork(t *testing.T) {
	reported := []string{}
	c := &Cluster{options: Options{Progress: func(line string) { reported = append(reported, line) }}}
	c.log().Info("removed what was left")
	if len(reported) > 0 {
		t.Errorf("reported %q, which is no problem", reported)
	}
	if cloud, err := c.newCloud(cut{}); err == nil {
		t.Error(errors.Join(errors.New("a cloud without a network has started"), cloud.Close()))
	}
	all := strings.Join(reported, "\n")
	if !strings.Contains(all, "nft: no such table") || strings.Contains(all, "time=") {
		t.Errorf("reported %q, want what is wrong", all)
	}
}
