//go:build linux

package realnode

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
)

// masquerade gives packets from pods to outside of private networks the address of the machine, as the network plug-ins
// of most clusters do: nobody outside knows a way to pods. That is of IPv4 alone.
func (n *Node) masquerade(ctx context.Context) error {
	rules, err := masqueradeRules(n.options.PodCIDR)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "nsenter", "--net="+n.options.Namespace, "nft", "--file", "-")
	command.Stdin = strings.NewReader(rules)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("masquerading what pods send to outside: %w\n%s", err, output)
	}
	return nil
}

// masqueradeRules are those for the networks of all pods. They replace the ones of before, which outlive a restart.
func masqueradeRules(podCIDR string) (string, error) {
	const table = "table ip masquerade-pods"
	for cidr := range strings.SplitSeq(podCIDR, ",") {
		network, err := netip.ParsePrefix(cidr)
		if err != nil {
			return "", fmt.Errorf("reading the networks of pods: %w", err)
		}
		if !network.Addr().Is4() {
			continue
		}
		return fmt.Sprintf(`%s
delete %[1]s
%[1]s {
	chain postrouting {
		type nat hook postrouting priority srcnat
		ip saddr %s ip daddr != { 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 } masquerade
	}
}
`, table, network), nil
	}
	return "", nil
}
