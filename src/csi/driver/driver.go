// Package driver is the process of the CSI driver: its commands, its sockets and its health. The controller has the
// credentials of the cloud and serves the sidecars; the node plug-in runs on every machine and serves the kubelet.
package driver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
)

const (
	// DefaultName is the name of the driver, as with the CSI driver that this one replaces. It must never change.
	DefaultName = "csi.k8s.thalassa.cloud"
	// component begins the user agent, and is the source of events.
	component = "thalassa-csi-driver"
)

// Environment is what a process has besides its flags.
type Environment struct {
	Build  build.Info
	Getenv func(string) string
	// Network carries the calls to the cloud; nil is the default transport.
	Network http.RoundTripper
}

// NewCommand returns the command of the driver, with the commands "controller" and "node".
func NewCommand(e Environment) *cobra.Command {
	root := &cobra.Command{Use: component, Short: "CSI driver for volumes of Thalassa Cloud",
		Version: e.Build.String(), SilenceUsage: true}
	root.AddCommand(newControllerCommand(e), newNodeCommand(e))
	return root
}

// common are the flags of both commands.
type common struct {
	name, endpoint, http, kubeconfig string
	logging                          *logsapi.LoggingConfiguration
}

func (c *common) add(cmd *cobra.Command, httpAddress string) {
	c.logging = logsapi.NewLoggingConfiguration()
	flags := cmd.Flags()
	flags.StringVar(&c.name, "driver-name", DefaultName, "Name of the driver, as in the CSIDriver object.")
	flags.StringVar(&c.endpoint, "csi-endpoint", "unix:///csi/csi.sock", "Socket on which the CSI services are served.")
	flags.StringVar(&c.http, "http-endpoint", httpAddress,
		"Address on which /livez, /readyz and /metrics are served, by HTTP. Empty: they are not served.")
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "Kubeconfig of the cluster. Empty: that of the pod.")
	logsapi.AddFlags(c.logging, flags)
}

// run applies the logging flags and runs the process until its context ends.
func (c *common) run(ctx context.Context, process func(context.Context) error) error {
	defer logs.FlushLogs()
	gate := featuregate.NewFeatureGate()
	if err := errors.Join(logsapi.AddFeatureGates(gate), logsapi.ValidateAndApply(c.logging, gate)); err != nil {
		return fmt.Errorf("applying the flags of the log: %w", err)
	}
	return process(ctx)
}

// together runs functions until the context ends or one of them fails, and returns when all have ended.
func together(ctx context.Context, all ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(all))
	for _, one := range all {
		go func() {
			defer cancel()
			ended <- one(ctx)
		}()
	}
	var problems []error
	for range all {
		problems = append(problems, <-ended)
	}
	return errors.Join(problems...)
}

// check is a health check that does not depend on the request.
func check(name string, ready func() error) healthz.HealthChecker {
	return healthz.NamedCheck(name, func(*http.Request) error { return ready() })
}
