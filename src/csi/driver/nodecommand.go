package driver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mount "k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/node"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/topology"
)

// DefaultVolumeLimit is the number of volumes that the cloud attaches to one machine.
const DefaultVolumeLimit = 20

// maxFormatNonzeroWithin is the maximum of --format-nonzero-within: older volumes may have been used.
const maxFormatNonzeroWithin = time.Hour

// nodeFlags are the flags of the node plug-in.
type nodeFlags struct {
	common
	node, region, zone          string
	registration, kubeletSocket string
	devices                     string
	limit                       int64
	limits                      map[string]int64
	formatNonzeroWithin         time.Duration
}

func newNodeCommand(e Environment) *cobra.Command {
	var flags nodeFlags
	cmd := &cobra.Command{Use: "node", Short: "Format and mount the volumes of this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.run(cmd.Context(), func(ctx context.Context) error { return runNode(ctx, e, flags) })
		}}
	flags.add(cmd, ":8081")
	set := cmd.Flags()
	set.StringVar(&flags.node, "node-name", e.Getenv("NODE_NAME"),
		"Name of the Node that the plug-in runs on. Required; the default is the environment variable NODE_NAME.")
	set.StringVar(&flags.region, "region", "",
		"Region of the Node. Empty: that of its label "+corev1.LabelTopologyRegion+".")
	set.StringVar(&flags.zone, "zone", "",
		"Zone of the Node. Empty: that of its label "+corev1.LabelTopologyZone+", if it has one.")
	set.Int64Var(&flags.limit, "volume-limit", DefaultVolumeLimit, "Number of volumes that the machine can have.")
	set.StringToInt64Var(&flags.limits, "volume-limits", nil,
		"Number of volumes by the instance type of the Node, like pgp-small=10. Other types have --volume-limit.")
	set.StringVar(&flags.registration, "registration-socket", "",
		"Path of the socket on which the plug-in registers itself with the kubelet. Empty: it does not.")
	set.StringVar(&flags.kubeletSocket, "kubelet-socket", "",
		"Path of the socket of --csi-endpoint as the kubelet sees it. Required with --registration-socket.")
	set.StringVar(&flags.devices, "device-directory", node.DefaultSys,
		"Directory with a folder for each block device, in which the kernel shows the serial number of the disk.")
	set.DurationVar(&flags.formatNonzeroWithin, "format-nonzero-within", 0,
		"Age up to which a volume that the driver created empty is formatted although its first MiB is not all zeros, "+
			"at most 1h. 0: it is never formatted. Set it only if new volumes of the cloud are not all zeros.")
	return cmd
}

// check returns an error for flags that are missing or wrong.
func (f nodeFlags) check() error {
	var problems []error
	if f.node == "" {
		problems = append(problems, errors.New("flag --node-name is missing: want the name of the Node"))
	}
	if f.registration != "" && f.kubeletSocket == "" {
		problems = append(problems, errors.New("flag --kubelet-socket is missing: want the path of the socket as the "+
			"kubelet sees it"))
	}
	if f.limit < 1 {
		problems = append(problems, fmt.Errorf("flag --volume-limit is %d: want 1 or more", f.limit))
	}
	for kind, limit := range f.limits {
		if limit < 1 {
			problems = append(problems, fmt.Errorf("flag --volume-limits has %s=%d: want 1 or more", kind, limit))
		}
	}
	if f.formatNonzeroWithin < 0 || f.formatNonzeroWithin > maxFormatNonzeroWithin {
		problems = append(problems, fmt.Errorf("flag --format-nonzero-within is %s: want 0 to %s",
			f.formatNonzeroWithin, maxFormatNonzeroWithin))
	}
	return errors.Join(problems...)
}

// runNode serves the kubelet until the context ends.
func runNode(ctx context.Context, e Environment, flags nodeFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	place, err := flags.place()
	if err != nil {
		return err
	}
	served, err := newServices(e.Build)
	if err != nil {
		return err
	}
	plugin := node.New(node.Options{Name: flags.node, Place: place, Devices: flags.disks(),
		Mounter:             mount.NewSafeFormatAndMount(mount.New(""), utilexec.New()),
		FormatNonzeroWithin: flags.formatNonzeroWithin})
	registered := newRegistration(flags.name, flags.kubeletSocket, func(ctx context.Context) error {
		_, err := place(ctx)
		return err
	})
	if flags.registration != "" {
		served.ready.Add(check("registration", registered.ready))
	}
	return together(ctx,
		func(ctx context.Context) error { return served.serveHTTP(ctx, flags.http) },
		func(ctx context.Context) error { return served.serveRegistration(ctx, flags.registration, registered) },
		func(ctx context.Context) error {
			return served.serveSocket(ctx, flags.endpoint, func(s *grpc.Server) {
				csi.RegisterIdentityServer(s, NewIdentity(flags.name, e.Build.Version, nil))
				csi.RegisterNodeServer(s, plugin)
			})
		})
}

// disks returns where the disks of the machine are. The serial numbers are kept beside the socket: its folder stays
// when the plug-in ends.
func (f nodeFlags) disks() node.Devices {
	return node.Devices{Sys: f.devices, Nodes: node.DefaultNodes,
		Serials: filepath.Join(filepath.Dir(strings.TrimPrefix(f.endpoint, "unix://")), "serials")}
}

// place returns a function that looks up where the Node is. The cluster is asked only for what the flags do not
// contain.
func (f nodeFlags) place() (func(context.Context) (node.Place, error), error) {
	fixed := node.Place{Region: f.region, Zone: f.zone, Limit: f.limit}
	if f.region != "" && f.zone != "" && len(f.limits) == 0 {
		return func(context.Context) (node.Place, error) { return fixed, nil }, nil
	}
	cluster, _, err := newClusterClients(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (node.Place, error) {
		object, err := cluster.CoreV1().Nodes().Get(ctx, f.node, metav1.GetOptions{})
		if err != nil {
			return node.Place{}, fmt.Errorf("reading Node %s: %w", f.node, err)
		}
		return placeOf(object.Labels, f)
	}, nil
}

// placeOf returns where a Node with the labels is. Flags take precedence.
func placeOf(labels map[string]string, f nodeFlags) (node.Place, error) {
	// The former driver wrote the legacy label, and the kubelet refuses another value for it.
	place := node.Place{Region: f.region, Zone: f.zone, LegacyRegion: labels[topology.LegacyRegion], Limit: f.limit}
	if place.Region == "" {
		place.Region = labels[corev1.LabelTopologyRegion]
	}
	if place.Zone == "" {
		place.Zone = labels[corev1.LabelTopologyZone]
	}
	if limit, known := f.limits[labels[corev1.LabelInstanceTypeStable]]; known {
		place.Limit = limit
	}
	if place.Region == "" {
		return place, fmt.Errorf("the Node has no label %s; the cloud controller manager sets it, or set the flag "+
			"--region", corev1.LabelTopologyRegion)
	}
	return place, nil
}
