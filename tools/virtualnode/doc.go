// Package virtualnode gives a Kubernetes control plane nodes without machines: a stand-in for
// kubelet and kube-proxy that needs no root. Several nodes run in one process, each on a loopback
// address of its own.
//
//	network, err := virtualnode.NewNetwork(config, logger)
//	...
//	node, err := virtualnode.Start(ctx, virtualnode.Options{
//		Network: network, Name: "node-1", Address: netip.MustParseAddr("127.0.10.1"), Dir: dir,
//		Images: map[string]virtualnode.Image{
//			"ghcr.io/thalassa-cloud/thalassa-ccm/web": virtualnode.WebServer(),
//			"ghcr.io/thalassa-cloud/thalassa-ccm/cloud-controller-manager": virtualnode.Program(binary),
//		},
//	})
//	...
//	err = node.Stop(ctx)
//
// What is like on a real node: the Node object as kubelet registers it with
// --cloud-provider=external, leases, pod status and conditions, restarts, httpGet readiness
// probes, volumes from ConfigMaps, Secrets and tokens with atomic updates, graceful
// deletion, TCP node ports and health check node ports by EndpointSlices and
// externalTrafficPolicy. Network.Dial stands in for the packets of a load balancer with ipMode VIP.
//
// In a cluster that others use too, Options.Namespaces keeps their pods, Secrets and Services away:
// DaemonSets may tolerate every taint.
//
// What is not: images are not pulled but looked up in Options.Images. Containers share the file
// system, the network and the user of this process; limits and security contexts are not
// enforced. Pod addresses are known only here: nothing but probes and node ports reaches them.
// Cluster IPs, host ports, UDP, session affinity and cluster DNS do not exist. Exec, logs and
// port-forward are not served (see Node.Logs). A pod has one container, which always restarts, a second
// after its end and without back-off; its environment has values and fields of the pod. Its liveness
// probe is not made. One that needs anything else, such as more containers, lifecycle hooks, other
// probes, subPath, optional or other volumes, waits with a message that says so.
package virtualnode
