package controlplane

import (
	"fmt"
	"net/netip"
)

// The components of a control plane, by the names that Options.Flags and log files use.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// The sockets of etcd are files in the working folder, which only its owner may enter: etcd has
// no users, so every client that reaches it controls the cluster. They are relative names because the path of
// a socket may have 108 bytes at most, which the temporary folder of a test easily exceeds.
const (
	etcdSocket     = "etcd.sock"
	etcdURL        = "unix://" + etcdSocket
	etcdPeerSocket = "etcd-peer.sock"
	etcdPeerURL    = "unix://" + etcdPeerSocket
)

// layout is where a control plane keeps its files and listens.
type layout struct {
	dir         string
	certs       string
	etcd        string // data and sockets; the working folder of all components
	logs        string
	auditPolicy string
	auditLog    string
	kubeconfig  string
	server      netip.AddrPort
}

func etcdFlags() []string {
	return []string{
		"--data-dir=data",
		"--listen-client-urls=" + etcdURL, "--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=" + etcdPeerURL, "--initial-advertise-peer-urls=" + etcdPeerURL,
		"--initial-cluster=default=" + etcdPeerURL,
		// Nothing here outlives the machine.
		"--unsafe-no-fsync",
		// Alone, it elects itself; a short election is a short start.
		"--heartbeat-interval=20", "--election-timeout=200",
		// Half of etcd's default keeps fewer entries in memory.
		"--snapshot-count=5000",
		"--log-level=warn",
	}
}

func apiServerFlags(o Options, l layout, c *credentials) []string {
	flags := []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=" + l.server.Addr().String(),
		"--advertise-address=" + l.server.Addr().String(),
		fmt.Sprintf("--secure-port=%d", l.server.Port()),
		"--permit-port-sharing", // see package port
		"--tls-cert-file=" + c.cert(serving), "--tls-private-key-file=" + c.key(serving),
		"--client-ca-file=" + c.cert(clusterCA),
		"--requestheader-client-ca-file=" + c.cert(frontProxyCA),
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--kubelet-client-certificate=" + c.cert(kubeletClient), "--kubelet-client-key=" + c.key(kubeletClient),
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--proxy-client-cert-file=" + c.cert(frontProxy), "--proxy-client-key-file=" + c.key(frontProxy),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.key(tokens), "--service-account-signing-key-file=" + c.key(tokens),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged",
		"--service-cluster-ip-range=" + o.ServiceCIDR,
		"--audit-policy-file=" + l.auditPolicy, "--audit-log-path=" + l.auditLog,
		"--audit-log-maxsize=0", // one file, never rotated away under its reader
		"--profiling=false",
	}
	if l.server.Addr().IsLoopback() {
		// Endpoints may not hold loopback addresses; the attempt would fail every ten seconds.
		flags = append(flags, "--endpoint-reconciler-type=none")
	}
	return flags
}

func controllerManagerFlags(o Options, c *credentials, kubeconfig string) []string {
	flags := append(clientFlags(kubeconfig),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.key(tokens),
		"--root-ca-file="+c.cert(clusterCA),
		"--cluster-signing-cert-file="+c.cert(clusterCA), "--cluster-signing-key-file="+c.key(clusterCA),
		"--cloud-provider=external",
		"--allocate-node-cidrs", "--cluster-cidr="+o.PodCIDR,
		"--service-cluster-ip-range="+o.ServiceCIDR,
	)
	if o.NodeMonitorGracePeriod != 0 {
		flags = append(flags, "--node-monitor-grace-period="+o.NodeMonitorGracePeriod.String())
	}
	return flags
}

// clientFlags are what the controller manager and the scheduler share: there is one of each, they
// serve nothing, and no user of this machine needs protection from them.
func clientFlags(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}
}
