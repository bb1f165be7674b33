//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

// cloud is what a cluster is in. It makes the machines, and describes the network to the data plane.
type cloud interface {
	// start starts the cloud. Machines reach its API at the client's address.
	start(ctx context.Context) error
	addMachine(ctx context.Context, name string) error
	deleteMachine(ctx context.Context, name string) error
	// setPower switches a machine on or off.
	setPower(ctx context.Context, name string, on bool) error
	// route makes the network send what is for the networks of a node's pods to its machine.
	route(ctx context.Context, e netns.Event, cidrs []string) error
	// command is what shows the cloud's objects, on the command line of root.
	command() string
	// credentials are the content of the Secret that the chart needs, by key; values are the values of the chart that
	// have no default, routes those for routes to pods.
	credentials() (map[string]string, error)
	values(routes map[string]any) map[string]any
}

// startCloud starts the cloud, whose machines are namespaces of a data plane.
func (c *Cluster) startCloud(ctx context.Context) (err error) {
	c.machines = newMachines(c)
	c.plane, err = netns.New(netns.Options{
		Client: c.options.Client, OnMachine: c.machines.happened,
		Proxy: proxy.Options{Logger: c.log(), Second: c.options.HealthSecond, OnCut: c.options.OnCut},
	})
	if err != nil {
		return err
	}
	c.later("the machines", func() error { return errors.Join(c.plane.Close(), c.machines.close()) })
	if c.options.IronCore {
		c.ironcore = &ironcore{cluster: c}
		c.cloud = c.ironcore
	} else {
		c.thalassa = &thalassa{cluster: c}
		c.cloud = c.thalassa
	}
	return c.cloud.start(ctx)
}

// log prints what is wrong with the cloud, above all with its network: nothing else says why packets do not arrive.
func (c *Cluster) log() *slog.Logger {
	untimed := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(linePrinter(c.say), &slog.HandlerOptions{Level: slog.LevelWarn,
		ReplaceAttr: untimed}))
}

// linePrinter prints what is written, a line at a time.
type linePrinter func(format string, args ...any)

func (t linePrinter) Write(line []byte) (int, error) {
	t("The cloud: %s", bytes.TrimSpace(line))
	return len(line), nil
}

// CloudCommand is a command of root's shell that shows the objects in the cloud.
func (c *Cluster) CloudCommand() string { return c.cloud.command() }
