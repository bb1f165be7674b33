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

// TestTellsWhatIsWrongWithTheNetwork: who runs the cluster hears of it, without what is no trouble.
func TestTellsWhatIsWrongWithTheNetwork(t *testing.T) {
	told := []string{}
	c := &Cluster{options: Options{Progress: func(line string) { told = append(told, line) }}}
	c.log().Info("removed what was left")
	if len(told) > 0 {
		t.Errorf("told %q, which is no trouble", told)
	}
	if cloud, err := c.newCloud(cut{}); err == nil {
		t.Error(errors.Join(errors.New("a cloud without a network has started"), cloud.Close()))
	}
	all := strings.Join(told, "\n")
	if !strings.Contains(all, "nft: no such table") || strings.Contains(all, "time=") {
		t.Errorf("told %q, want what is wrong", all)
	}
}
