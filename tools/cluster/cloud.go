//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

// headerTimeout bounds how long a client of the cloud may take for its headers.
const headerTimeout = 10 * time.Second

// startCloud starts the cloud. Its API answers machines at an address outside of the VPC, and this machine
// at a loopback address.
func (c *Cluster) startCloud(ctx context.Context) (err error) {
	c.machines = newMachines(c)
	c.plane, err = netns.New(netns.Options{
		Client: c.options.Client, OnMachine: c.machines.happened,
		Proxy: proxy.Options{Logger: c.log(), Second: c.options.HealthSecond, OnCut: c.options.OnCut},
	})
	if err != nil {
		return err
	}
	c.cloud, err = c.newCloud(c.plane)
	if err != nil {
		return errors.Join(err, c.plane.Close())
	}
	c.later("the cloud", func() error { return errors.Join(c.cloud.Close(), c.machines.close()) })
	at := netip.AddrPortFrom(c.ClientAddress(), cloudPort).String()
	outside, err := c.Client().Listen(ctx, "tcp", at)
	if err != nil {
		return fmt.Errorf("serving the cloud's API to machines: %w", err)
	}
	inside, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("serving the cloud's API: %w", err), outside.Close())
	}
	server := &http.Server{Handler: c.cloud, ReadHeaderTimeout: headerTimeout}
	for _, listener := range []net.Listener{outside, inside} {
		go func() { _ = server.Serve(listener) }()
	}
	c.later("the cloud's API", server.Close)
	c.cloudURL, c.cloudEndpoint = "http://"+inside.Addr().String(), "http://"+at
	c.say("Thalassa Cloud (emulated) answers at %s; machines are in namespaces that begin with %s-", c.cloudURL,
		c.plane.Name())
	return nil
}

func (c *Cluster) newCloud(plane emulator.DataPlane) (*emulator.Emulator, error) {
	return emulator.New(emulator.Config{Seed: emulator.DualStackSeed(), DataPlane: plane, Logger: c.log()})
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

// Endpoint is where machines find the cloud's API.
func (c *Cluster) Endpoint() string { return c.cloudEndpoint }
