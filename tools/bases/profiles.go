package bases

// Profile is one way to run the controller manager that the chart knows.
type Profile struct {
	// Name of the base's folder, of the overlay's, and of the values file.
	Name string
	// kinds are those marks that its base has an object of.
	kinds []string
}

// Profiles returns those that have a base.
func Profiles() []Profile {
	return []Profile{
		{"self-managed", []string{whereItRuns, whereItMay}},
		{"managed", []string{whereItRuns}},
		{"managed-tenant", []string{whereItMay}},
	}
}

// Component is an optional part: what more the chart renders with the values file kustomize/values/components/<name>.yaml.
type Component struct {
	// Name of the component's folder and of the values file.
	Name string
	// What it does, for people who look for it.
	What string
	// Profiles it is for, each with the components that it needs there.
	Profiles map[string][]string
	// After has the kinds of objects, named like the release, that only are there after another component, and which one that is.
	After map[string]string
}

// Components returns all of them.
func Components() []Component {
	return []Component{
		{
			Name:     "admission-policy",
			What:     "Services with a wrong or misspelt annotation are refused when they are applied.",
			Profiles: map[string][]string{"self-managed": nil, "managed-tenant": nil},
		},
		{
			Name:     "allocate-node-cidrs",
			What:     "Nodes are given the networks of their pods, from clusterCIDR in cloud-config.yaml, where kube-controller-manager gives them none.",
			Profiles: map[string][]string{"self-managed": nil, "managed": nil},
		},
		{
			Name:     "deployment",
			What:     "A Deployment with one pod in place of the DaemonSet.",
			Profiles: map[string][]string{"self-managed": nil},
		},
		{
			Name:     "high-availability",
			What:     "Two pods, on different nodes if possible, of which a drain takes one at a time.",
			Profiles: map[string][]string{"self-managed": {"deployment"}, "managed": nil},
			After:    map[string]string{"Deployment": "deployment"},
		},
		{
			Name:     "metrics-certificate",
			What:     "The port of the metrics has the certificate in Secret metrics-certificate, for the name thalassa-ccm-metrics, and Prometheus checks it.",
			Profiles: map[string][]string{"self-managed": {"monitoring"}, "managed": {"monitoring-managed"}},
			After:    map[string]string{"ServiceMonitor": "monitoring or monitoring-managed"},
		},
		{
			Name:     "monitoring",
			What:     "ServiceMonitor, alerts, and the permission to read metrics for ServiceAccount prometheus-k8s in namespace monitoring.",
			Profiles: map[string][]string{"self-managed": nil},
		},
		{
			Name:     "monitoring-managed",
			What:     "ServiceMonitor with the client certificate in Secret prometheus-client, whose authority is in Secret metrics-clients, and alerts.",
			Profiles: map[string][]string{"managed": nil},
		},
		{
			Name:     "monitoring-managed-tenant",
			What:     "The permission to read metrics for user prometheus, the common name of that client certificate.",
			Profiles: map[string][]string{"managed-tenant": nil},
		},
		{
			Name:     "network-policy",
			What:     "NetworkPolicy for the pods; not on the host network, where no policy is applied.",
			Profiles: map[string][]string{"managed": nil},
		},
		{
			Name:     "private-ca",
			What:     "Certificates in key ca.crt of ConfigMap thalassa-ca are in /etc/thalassa-ccm/ca/ca.crt, for caBundle in cloud-config.yaml.",
			Profiles: map[string][]string{"self-managed": nil, "managed": nil},
		},
		{
			Name:     "spec-rbac",
			What:     "Permissions that the specification of Kubernetes lists, beyond those that the program uses.",
			Profiles: map[string][]string{"self-managed": nil, "managed-tenant": nil},
		},
		{
			Name:     "workload-identity",
			What:     "The pods have a token of their own in place of Secret thalassa-credentials, for cloudCredentials.workloadIdentity in cloud-config.yaml.",
			Profiles: map[string][]string{"self-managed": nil, "managed": nil},
		},
	}
}
