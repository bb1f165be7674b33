package config

// uidPattern is the UID of an object of Kubernetes.
const uidPattern = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// FormerUIDs returns the key of the UIDs of clusters whose objects this cluster takes over. name is the key that
// contains the name of the cluster in the cloud.
func FormerUIDs(name, since string) Key {
	return Key{Path: "formerClusterUIDs", Since: since, Example: "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
		Effect: "The UID of a cluster with the same " + name + " that this cluster replaces, or several UIDs, " +
			"separated by commas. The UID of a cluster is that of its namespace kube-system, and the annotation " +
			"k8s.thalassa.cloud/cluster-uid of its objects in the cloud. Without this key, objects with the UID of " +
			"another cluster are never changed or deleted. Set it only if the other cluster does not exist any more.",
		Rule: Matching(uidPattern+"(?:,"+uidPattern+")*", "UIDs like 0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d, "+
			"separated by commas")}
}
