package sidecar

// The names of the programs.
const (
	Provisioner        = "csi-provisioner"
	Attacher           = "csi-attacher"
	Resizer            = "csi-resizer"
	Snapshotter        = "csi-snapshotter"
	SnapshotController = "snapshot-controller"
)

// Names returns the names of all programs.
func Names() []string {
	return []string{Provisioner, Attacher, Resizer, Snapshotter, SnapshotController}
}

// noGroups disables snapshots of several volumes. Where their definitions are missing, the programs otherwise wait for
// them when they start: snapshot-controller for 30 seconds, csi-snapshotter for its timeout.
const noGroups = "--feature-gates=CSIVolumeGroupSnapshot=false"

// flags are the arguments of a program. They differ from those in a cluster by the kubeconfig and the limits of
// requests, and by the log, which contains the calls of the driver.
func (o Options) flags(program string) []string {
	flags := []string{"--kubeconfig=" + o.Kubeconfig, "--kube-api-qps=100", "--kube-api-burst=200", "--v=5"}
	if o.LeaderElection != "" {
		flags = append(flags, "--leader-election", "--leader-election-namespace="+o.LeaderElection)
	}
	if program != SnapshotController {
		flags = append(flags, "--csi-address="+o.Socket, "--timeout=1m")
	}
	switch program {
	case Provisioner:
		flags = append(flags, "--worker-threads=10", "--default-fstype=ext4", "--extra-create-metadata")
	case Attacher:
		flags = append(flags, "--worker-threads=10", "--default-fstype=ext4")
	case Resizer:
		flags = append(flags, "--workers=10")
	case Snapshotter:
		flags = append(flags, "--worker-threads=10", "--extra-create-metadata", noGroups)
	case SnapshotController:
		flags = append(flags, "--worker-threads=10", noGroups)
	}
	return flags
}
