//go:build e2e

package e2etest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// counting is a table that counts connections to a node port, before anybody translates them.
const counting = `table inet e2e {
	counter seen { }
	chain in {
		type filter hook prerouting priority -300
		tcp flags & (syn | ack) == syn tcp dport %d counter name seen
	}
}
`

// counter counts the connections to the node port of a Service that reach a node, in the kernel of its machine.
type counter struct {
	node, namespace string
}

// counts begins to count those of a Service named "server". A machine that is deleted takes its counter with it.
func (l *lab) counts(t *testing.T, namespace, node string) counter {
	t.Helper()
	service, err := l.API().CoreV1().Services(namespace).Get(t.Context(), "server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := counter{node: node, namespace: strings.TrimSuffix(l.Client().Path(), "client") + node}
	if _, err := c.nft(t.Context(), fmt.Sprintf(counting, service.Spec.Ports[0].NodePort), "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if l.Node(node) == nil {
			return
		}
		// The machine may be another one by now.
		if _, err := c.nft(context.WithoutCancel(t.Context()), "", "list", "table", "inet", "e2e"); err == nil {
			if _, err := c.nft(context.WithoutCancel(t.Context()), "", "delete", "table", "inet", "e2e"); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

// nft runs nft in the network of the machine.
func (c counter) nft(ctx context.Context, input string, arguments ...string) (output string, err error) {
	command := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + c.namespace, "nft"}, arguments...)...)
	command.Stdin = strings.NewReader(input)
	all, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("nft %v on %s: %w: %s", arguments, c.node, err, all)
	}
	return string(all), nil
}

// seen is how many connections there have been.
func (c counter) seen(ctx context.Context) (int, error) {
	output, err := c.nft(ctx, "", "list", "counter", "inet", "e2e", "seen")
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`packets (\d+)`).FindStringSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("nft says on %s: %s", c.node, output)
	}
	return strconv.Atoi(found[1])
}

// during counts the connections while so many requests are served that a node which is a target gets some.
func (c counter) during(ctx context.Context, d *load) (int, error) {
	before, err := c.seen(ctx)
	if err != nil {
		return 0, err
	}
	if err := d.more(ctx, rowLength); err != nil {
		return 0, err
	}
	after, err := c.seen(ctx)
	return after - before, err
}

// silent waits until none of many requests reach the node. Those that are under way when its machine is no target any
// more may.
func (c counter) silent(t *testing.T, d *load) {
	t.Helper()
	eventually(t, "no connection reaches "+c.node, func(ctx context.Context) error {
		n, err := c.during(ctx, d)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d do", n)
		}
		return err
	})
}

// busy waits until some do.
func (c counter) busy(t *testing.T, d *load) {
	t.Helper()
	eventually(t, "connections reach "+c.node, func(ctx context.Context) error {
		n, err := c.during(ctx, d)
		if err == nil && n == 0 {
			err = errors.New("none does")
		}
		return err
	})
}
