// Package command is the command line of thalassa-emulator.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/loopback"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/netns"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/proxy"
)

// The values of --data-plane.
const (
	planeNone     = "none"
	planeLoopback = "loopback"
	planeNetns    = "netns"
)

// options are the flags.
type options struct {
	listen, certFile, keyFile, readyFile   string
	plainHTTP, verbose, version            bool
	plane, network, seed, state            string
	netnsName, netnsClient                 string
	machines                               int
	delays                                 emulator.Delays
	switches                               emulator.Switches
	updates, inline, doneBody, routeAnswer string
	// middleware is that of tests.
	middleware    func(http.Handler) http.Handler
	faultRules    []string
	faultFile     string
	netnsNetworks []string
}

// New makes the command. It serves until its context ends. The version is what
// --version prints.
func New(version string) *cobra.Command { return new(options).command(version) }

func (o *options) command(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "thalassa-emulator",
		Short: "Thalassa Cloud in a box: its REST API, for tests of clients, controllers and pipelines",
		Args:  cobra.NoArgs,
		// An error while running is not a misuse of the flags.
		SilenceUsage: true,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return setFromEnvironment(cmd.Flags(), os.Environ())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.version {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), cmd.Name(), version)
				return err
			}
			if err := o.check(cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.addServerFlags(cmd)
	o.addCloudFlags(cmd)
	o.addSwitchFlags(cmd)
	o.addFaultFlags(cmd)
	cmd.AddCommand(newToken(), newHealth(), newClean())
	return cmd
}

func (o *options) addServerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:7443", "address and port to listen on; port 0 picks a free one")
	flags.StringVar(&o.certFile, "tls-cert-file", "",
		"PEM file with the server's certificate; serves HTTPS together with --tls-key-file")
	flags.StringVar(&o.keyFile, "tls-key-file", "", "PEM file with the certificate's key")
	flags.BoolVar(&o.plainHTTP, "allow-plain-http", false, "allow HTTP without TLS on addresses other than loopback")
	flags.StringVar(&o.readyFile, "ready-file", "", "file to write once the API is served: JSON with endpoint, "+
		"network, organisation, vpc and subnet; removed at the end")
	flags.BoolVar(&o.verbose, "verbose", false, "log refused connections and the like")
	// The library's own flag takes a template, and templates find methods by their
	// names, so that none could be left out of the program: 3 MB.
	flags.BoolVar(&o.version, "version", false, "print the version and quit")
	cmd.MarkFlagsRequiredTogether("tls-cert-file", "tls-key-file")
}

// defaultClientNetworks are those of the netns data plane, as the flag has them.
func defaultClientNetworks() (texts []string) {
	for _, network := range netns.DefaultClientNetworks() {
		texts = append(texts, network.String())
	}
	return texts
}

func (o *options) addCloudFlags(cmd *cobra.Command) {
	o.delays = behaviour.ProgramDelays()
	flags := cmd.Flags()
	flags.StringVar(&o.plane, "data-plane", planeNone, "what moves packets: none, loopback (load balancers are real "+
		"proxies on 127.N addresses), or netns (machines are network namespaces; root, Linux)")
	flags.StringVar(&o.network, "loopback-network", loopback.Auto,
		"network of the loopback data plane: 127.N.0.0/16, or auto for the first free one")
	flags.StringVar(&o.netnsName, "netns-name", "", "what the names of the netns data plane's namespaces begin with: "+
		"at most 12 lower case letters and digits; made up when empty")
	flags.StringVar(&o.netnsClient, "netns-client", "", "network namespace from which the netns data plane is "+
		"reached: a name, a path, or host for the emulator's own; a new one when empty")
	flags.StringSliceVar(&o.netnsNetworks, "netns-client-networks", defaultClientNetworks(),
		"networks in which the client of the netns data plane has its addresses, one of each family at most")
	flags.StringVar(&o.seed, "seed", "", "YAML file with the initial state; without it, one organisation with one VPC")
	flags.StringVar(&o.state, "state", "", "YAML file that keeps the state over restarts; it has credentials. If it "+
		"exists, --seed and --machines are ignored")
	flags.IntVar(&o.machines, "machines", 0,
		"number of machines to add to the first subnet, named machine-00001 and so on")
	flags.DurationVar(&o.delays.LoadbalancerCreate, "lb-create-delay", o.delays.LoadbalancerCreate,
		"how long a new load balancer is creating")
	flags.DurationVar(&o.delays.LoadbalancerDelete, "lb-delete-delay", o.delays.LoadbalancerDelete,
		"how long a load balancer is deleting")
	flags.DurationVar(&o.delays.LoadbalancerLinger, "lb-linger", 0,
		"how long a load balancer is then still listed as deleted")
	flags.DurationVar(&o.delays.LoadbalancerUpdate, "lb-update-delay", 0,
		"how long a load balancer is updating after a change")
	flags.DurationVar(&o.delays.MachineCreate, "machine-create-delay", 0, "how long a new machine is provisioning")
	flags.DurationVar(&o.delays.MachineDelete, "machine-delete-delay", 0, "how long a machine is deleting")
	flags.DurationVar(&o.delays.MachineLinger, "machine-linger", 0,
		"how long a machine is then still listed as deleted")
	flags.DurationVar(&o.delays.NetworkCreate, "network-create-delay", 0,
		"how long new VPCs and subnets are creating and security groups provisioning")
	flags.DurationVar(&o.delays.NetworkDelete, "network-delete-delay", 0,
		"how long VPCs, subnets, security groups, reserved IPs and NAT gateways are deleting")
	flags.DurationVar(&o.delays.NetworkLinger, "network-linger", 0, "how long they are then still listed as deleted")
	flags.DurationVar(&o.delays.ReservedIPCreate, "reserved-ip-create-delay", 0,
		"how long a new reserved IP is creating")
	flags.DurationVar(&o.delays.NATGatewayCreate, "nat-gateway-create-delay", 0,
		"how long a new NAT gateway is creating")
	o.addVolumeDelays(flags)
	o.addKubernetesDelays(flags)
	flags.DurationVar(&o.delays.LabelFilters, "label-filter-lag", 0,
		"how far lists with a label filter lag behind the others")
	flags.DurationVar(&o.delays.TokenLifetime, "token-lifetime", o.delays.TokenLifetime,
		"how long bearer tokens are good for; 0 is an hour")
}

func (o *options) addKubernetesDelays(flags *pflag.FlagSet) {
	flags.DurationVar(&o.delays.KubernetesCreate, "kubernetes-create-delay", 0,
		"how long new clusters and node pools are provisioning")
	flags.DurationVar(&o.delays.KubernetesDelete, "kubernetes-delete-delay", 0,
		"how long clusters and node pools are deleting")
	flags.DurationVar(&o.delays.KubernetesLinger, "kubernetes-linger", o.delays.KubernetesLinger,
		"how long they are then still listed as deleted")
}

func (o *options) addVolumeDelays(flags *pflag.FlagSet) {
	flags.DurationVar(&o.delays.VolumeCreate, "volume-create-delay", 0,
		"how long a new volume is creating, and cannot be attached")
	flags.DurationVar(&o.delays.VolumeAttach, "volume-attach-delay", 0, "how long a volume is attaching")
	flags.DurationVar(&o.delays.VolumeDetach, "volume-detach-delay", 0,
		"how long a volume is detaching, and cannot be attached or deleted")
	flags.DurationVar(&o.delays.VolumeResize, "volume-resize-delay", 0,
		"how long a volume keeps its old size after it was made larger")
	flags.DurationVar(&o.delays.VolumeDelete, "volume-delete-delay", 0, "how long a volume is deleting")
	flags.DurationVar(&o.delays.VolumeLinger, "volume-linger", 0, "how long a volume is then still listed as deleted")
	flags.DurationVar(&o.delays.SnapshotCreate, "snapshot-create-delay", 0, "how long a new snapshot is creating")
	flags.DurationVar(&o.delays.SnapshotDelete, "snapshot-delete-delay", 0, "how long a snapshot is deleting")
	flags.DurationVar(&o.delays.SnapshotLinger, "snapshot-linger", 0,
		"how long a snapshot is then still listed as deleted")
}

func (o *options) addSwitchFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.updates, "updates", string(emulator.Replace),
		"what PUT does to settings its body leaves out: replace or replace-all (clear them) or merge (keep them)")
	flags.StringVar(&o.inline, "inline-listeners", string(emulator.AcceptListeners),
		"listeners in the body that creates a load balancer are accepted, ignored or refused")
	flags.BoolVar(&o.switches.InternalAddressAlsoExternal, "internal-address-also-external", false,
		"list the address of internal load balancers as external, too")
	flags.BoolVar(&o.switches.OneProtocolPerPort, "one-protocol-per-port", false,
		"refuse a TCP and a UDP listener on one port")
	flags.BoolVar(&o.switches.ExclusiveTargetGroups, "exclusive-target-groups", false,
		"refuse a target group that another listener uses")
	flags.BoolVar(&o.switches.LateRelease, "late-release", false,
		"keep target groups in use until their deleted load balancer is gone")
	flags.BoolVar(&o.switches.KeepDeletedMachines, "keep-deleted-machines", false,
		"leave deleted machines attached to target groups")
	flags.BoolVar(&o.switches.NoProjects, "no-projects", false,
		"refuse everything about projects, like an organisation without that feature")
	flags.BoolVar(&o.switches.StrictLabels, "strict-labels", false,
		"refuse label keys and values that are not lower case letters, digits and hyphens")
	flags.IntVar(&o.switches.CreateStatus, "create-status", http.StatusCreated,
		"status of POST requests that create: 201 or 200")
	flags.IntVar(&o.switches.ConflictStatus, "conflict-status", http.StatusConflict,
		"status of conflicts: 409, 400 or 422")
	flags.IntVar(&o.switches.QuotaStatus, "quota-status", http.StatusForbidden,
		"status of creations beyond a quota: 403, 409, 422 or 429")
	flags.IntVar(&o.switches.PermissionStatus, "permission-status", http.StatusForbidden,
		"status of what credentials may not do: 403, 401 or 404")
	flags.IntVar(&o.switches.TargetStatus, "target-status", http.StatusBadRequest,
		"status of attaching a machine that is not there or in another VPC: 400, 404, 409 or 422")
	flags.IntVar(&o.switches.DoneStatus, "done-status", http.StatusNoContent,
		"status of what has no content to answer with: 204, 200 or 202")
	flags.StringVar(&o.doneBody, "done-body", string(emulator.NoBody),
		"body of the same, if their status is not 204: none, null, object or list")
	flags.IntVar(&o.switches.RequestsPerSecond, "requests-per-second", 0,
		"answer 429 to more requests than these; 0 answers all")
	flags.BoolVar(&o.switches.UniqueNames, "unique-names", false,
		"refuse a name that another object of the same kind has")
	flags.BoolVar(&o.switches.StrictSecurityGroups, "strict-security-groups", false, "apply the documented limits to "+
		"security groups: short names, ports from 1, a policy in every rule, no priority twice, always an "+
		"objectVersion")
	flags.BoolVar(&o.switches.UniqueRulePriorities, "unique-rule-priorities", false,
		"refuse two rules of one direction with the same priority")
	flags.BoolVar(&o.switches.IPv4OnlyLoadbalancers, "ipv4-only-load-balancers", false,
		"give load balancers no IPv6 addresses")
	flags.BoolVar(&o.switches.NullRemovesHealthCheck, "null-removes-health-check", false,
		"remove a health check that is null in a PUT, also with --updates=merge")
	flags.BoolVar(&o.switches.ApplicationProtocols, "application-protocols", false,
		"accept http, https, grpc and quic as protocols of listeners and target groups")
	flags.BoolVar(&o.switches.LoadbalancerHostnames, "load-balancer-hostnames", false,
		"give load balancers a hostname besides their addresses")
	flags.BoolVar(&o.switches.DuplicateRoutes, "duplicate-routes", false,
		"accept several routes of a route table with the same destination")
	flags.StringVar(&o.routeAnswer, "route-answer", string(emulator.AnswerRoute),
		"what creating and changing a route answers with: route, table or nothing")
	flags.BoolVar(&o.switches.BareRouteTables, "bare-route-tables", false,
		"leave routes and subnets out of lists of route tables")
	flags.BoolVar(&o.switches.VolumesByName, "volumes-by-name", false, "find volumes in paths by their names, too")
	flags.IntVar(&o.switches.VolumesPerMachine, "volumes-per-machine", 0,
		"how many volumes can be attached to a machine besides its root volume; 0 means 20")
	flags.IntVar(&o.switches.DetachStatus, "detach-status", http.StatusNotFound,
		"status of detaching a volume that is not attached to the machine: 404 or 400")
	flags.BoolVar(&o.switches.KeepAttachedVolumes, "keep-attached-volumes", false,
		"leave volumes attached to machines that were deleted")
	flags.BoolVar(&o.switches.StrictSnapshots, "strict-snapshots", false,
		"refuse snapshots of volumes that are not available, such as attached ones")
	flags.BoolVar(&o.switches.DurationTexts, "duration-texts", false,
		"answer the ttl of snapshot policies with a text such as 168h0m0s")
	flags.BoolVar(&o.switches.ConditionalRequests, "conditional-requests", false,
		"give answers to GET an ETag, and answer 304 to those whose If-None-Match has the same")
	flags.StringSliceVar(&o.switches.IgnoredFilters, "ignored-filters", nil,
		"query keys that lists ignore; matchLabels stands for all label filters")
	o.addShownFlags(flags)
}

// addShownFlags adds the switches about single values of answers.
func (o *options) addShownFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.switches.DefaultRouteTables, "default-route-tables", false,
		"show the default route table of the VPC in subnets that name none")
	flags.BoolVar(&o.switches.DefaultPolicies, "default-policies", false,
		"show ROUND_ROBIN in target groups whose policy was not set")
	flags.BoolVar(&o.switches.ReadyMachines, "ready-machines", false,
		"the status of a machine that runs is ready, and not running")
	flags.BoolVar(&o.switches.ActiveBuckets, "active-buckets", false,
		"the status of a bucket is active, and not ready")
}

// check refuses numbers that would otherwise mean zero without a word.
func (o *options) check(flags *pflag.FlagSet) error {
	var problems []error
	if o.machines < 0 {
		problems = append(problems, fmt.Errorf("--machines=%d: use 0 or more", o.machines))
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		if delay, err := flags.GetDuration(flag.Name); err == nil && delay < 0 {
			problems = append(problems, fmt.Errorf("--%s=%s: use 0 or more, such as 90s", flag.Name, delay))
		}
	})
	return errors.Join(problems...)
}

func (o *options) run(ctx context.Context, out, errOut io.Writer) error {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: level}))
	o.switches.Updates = emulator.UpdateMode(o.updates)
	o.switches.DoneBody, o.switches.RouteAnswer = emulator.DoneBody(o.doneBody), emulator.RouteAnswer(o.routeAnswer)
	o.switches.InlineListeners = emulator.InlineListeners(o.inline)
	cfg := emulator.Config{Switches: o.switches, Delays: o.delays, Logger: log, Middleware: o.middleware}
	var err error
	if cfg.Faults, err = o.faults(); err != nil {
		return err
	}
	state, err := o.openState(log)
	if err != nil {
		return err
	}
	at, err := o.connect(&cfg, log)
	if err != nil {
		return closing(err, state)
	}
	if state.found {
		cfg.Seed = state.state
	}
	return closing(o.start(ctx, cfg, state, func(cloud *emulator.Emulator) error {
		return o.serve(ctx, cloud, describe(cfg.Seed, at), out, log)
	}), state)
}

// start starts the cloud, and serves it with act.
func (o *options) start(ctx context.Context, cfg emulator.Config, state *saver,
	act func(*emulator.Emulator) error) error {
	cloud, err := emulator.New(cfg)
	if err != nil {
		return closing(o.inFile(state, err), cfg.DataPlane)
	}
	if _, err := cloud.AddMachines(o.machines); err != nil {
		return closing(err, cloud)
	}
	return closing(state.during(ctx, cloud, cfg.Logger, func() error { return act(cloud) }), cloud)
}

// connect chooses the data plane and the seed, which must fit each other.
func (o *options) connect(cfg *emulator.Config, log *slog.Logger) (places, error) {
	standard := func() (emulator.Seed, error) { return emulator.DefaultSeed(), nil }
	var at places
	switch o.plane {
	case planeNone:
	case planeLoopback:
		plane, err := loopback.New(loopback.Options{Network: o.network, Proxy: proxy.Options{Logger: log}})
		if err != nil {
			return places{}, err
		}
		cfg.DataPlane, at.network = plane, plane.Network()
		standard = func() (emulator.Seed, error) { return emulator.LoopbackSeed(plane.Network()) }
	case planeNetns:
		var err error
		if cfg.DataPlane, at, err = o.openNamespaces(log); err != nil {
			return places{}, err
		}
		standard = func() (emulator.Seed, error) { return emulator.DualStackSeed(), nil }
	default:
		return places{}, fmt.Errorf("--data-plane=%s: use %s, %s or %s", o.plane, planeNone, planeLoopback, planeNetns)
	}
	var err error
	if cfg.Seed, err = o.readSeed(standard); err != nil && cfg.DataPlane != nil {
		err = closing(err, cfg.DataPlane)
	}
	return at, err
}

func (o *options) readSeed(standard func() (emulator.Seed, error)) (emulator.Seed, error) {
	if o.seed == "" {
		return standard()
	}
	file, err := os.Open(o.seed)
	if err != nil {
		return emulator.Seed{}, fmt.Errorf("opening the seed: %w", err)
	}
	seed, err := emulator.ReadSeed(file)
	if err != nil {
		return emulator.Seed{}, closing(fmt.Errorf("--seed=%s: %w", o.seed, err), file)
	}
	return seed, file.Close()
}
