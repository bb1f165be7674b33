//go:build linux

package netns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// table is the table of nftables that has our chains.
const table = "inet cloud"

// nftTimeout is how long the program may take, which needs milliseconds.
const nftTimeout = 30 * time.Second

// probeRules use everything of nftables that security groups need.
const probeRules = `
	chain forward {
		type filter hook forward priority filter; policy accept;
		ct state established,related accept
		ether saddr 52:54:00:00:00:01 rt ip nexthop 198.51.100.1 tcp dport 80-81 drop
		rt ip6 nexthop vmap { 2001:db8::1 : drop }
	}
`

// filter is the content of our table in one namespace.
type filter struct{ applied string }

// apply makes chains the content of the table, all at once.
func (f *filter) apply(s *space, chains string) error {
	if chains == f.applied {
		return nil
	}
	if err := nft(s, "table "+table+"\ndelete table "+table+"\ntable "+table+" {"+chains+"}\n"); err != nil {
		return err
	}
	f.applied = chains
	return nil
}

// probe finds out whether the kernel can filter.
func (filter) probe(s *space) error {
	f := &filter{}
	if err := f.apply(s, probeRules); err != nil {
		return fmt.Errorf("this kernel cannot filter as security groups need it (modules nf_tables, nf_conntrack, "+
			"nft_ct): %w", err)
	}
	return f.apply(s, "")
}

// nft runs commands of nftables in a namespace.
func nft(s *space, commands string) error {
	ctx, cancel := context.WithTimeout(context.Background(), nftTimeout)
	defer cancel()
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "nft", "-f", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(commands), &output, &output
	err := s.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("filtering in network namespace %q: nft: %w", s.Name(),
			errors.Join(err, errors.New(strings.TrimSpace(output.String()))))
	}
	return nil
}
