package configfile

import (
	"fmt"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// Day is the maximum of durations, in seconds: a longer one is probably a mistake in the unit.
const Day = 86400

// The settings that each cloud has. A cloud embeds them in its own sections.
type (
	// Balancers is about Services of type LoadBalancer.
	Balancers struct {
		CreationPollTimeout int    `yaml:"creationPollTimeout"` // seconds after which an event says that it takes long
		Drift               string `yaml:"drift"`               // a cloud.DriftMode
		RemoveOrphans       bool   `yaml:"removeOrphans"`       // delete them instead of reporting them
	}

	// Removal is about the deletion of Nodes whose machines do not exist.
	Removal struct {
		// RemovalGracePeriod is the time between the two checks that a machine does not exist, in seconds.
		RemovalGracePeriod int  `yaml:"removalGracePeriod"`
		MaxRemovals        int  `yaml:"maxRemovals"`   // percentage of the nodes, within RemovalWindow
		RemovalWindow      int  `yaml:"removalWindow"` // seconds
		DryRun             bool `yaml:"dryRun"`        // report which nodes would be removed, and remove none
	}

	// API is about calls of the cloud's API.
	API struct {
		CallTimeout       int `yaml:"callTimeout"`       // seconds, for one call that is not a watch
		RequestsPerSecond int `yaml:"requestsPerSecond"` // of the whole process
		Burst             int `yaml:"burst"`             // calls at once after a pause
	}
)

// DefaultBalancers are the defaults in each cloud.
func DefaultBalancers() Balancers {
	return Balancers{CreationPollTimeout: 300, Drift: string(cloud.Repair)}
}

// DefaultRemoval are the defaults in each cloud.
func DefaultRemoval() Removal {
	return Removal{RemovalGracePeriod: 60, MaxRemovals: 20, RemovalWindow: 600}
}

// DefaultAPI are the defaults in each cloud.
func DefaultAPI() API { return API{CallTimeout: 30, RequestsPerSecond: 50, Burst: 100} }

// Behaviour returns the settings of the service controller.
func (b Balancers) Behaviour() cloud.LoadBalancerBehaviour {
	return cloud.LoadBalancerBehaviour{SlowAfter: seconds(b.CreationPollTimeout), Drift: cloud.DriftMode(b.Drift),
		RemoveOrphans: b.RemoveOrphans}
}

// Behaviour returns the settings of the node controllers, apart from the domain of their annotations.
func (r Removal) Behaviour() cloud.MachineBehaviour {
	return cloud.MachineBehaviour{
		Lists: true, GracePeriod: seconds(r.RemovalGracePeriod), MaxRemovals: r.MaxRemovals,
		RemovalWindow: seconds(r.RemovalWindow), DryRun: r.DryRun,
	}
}

// Timeout is the maximum duration of one call that is not a watch.
func (a API) Timeout() time.Duration { return seconds(a.CallTimeout) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// uidPattern is the UID of an object of Kubernetes.
const uidPattern = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// FormerUIDs returns the key of the UIDs of clusters whose objects this cluster takes over. name is the key that
// contains the name of the cluster in the cloud.
func FormerUIDs(name string) Key {
	return Key{Path: "formerClusterUIDs", Since: "0.1.0", Example: "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
		Effect: "The UID of a cluster with the same " + name + " that this cluster replaces, or several UIDs, " +
			"separated by commas. The UID of a cluster is that of its namespace kube-system, and the annotation " +
			"k8s.thalassa.cloud/cluster-uid of its objects in the cloud. Without this key, objects with the UID of " +
			"another cluster are never changed or deleted. Set it only if the other cluster does not exist any more.",
		Rule: Matching(uidPattern+"(?:,"+uidPattern+")*", "UIDs like 0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d, "+
			"separated by commas")}
}

// BalancerKeys returns the keys of Balancers. Zero is what the cloud does with a creationPollTimeout of 0; "" is that
// it is refused.
func BalancerKeys(zero string) []Key {
	const repair, report, off = cloud.Repair, cloud.Report, cloud.Off
	timeout := Whole(1, Day, "seconds")
	if zero != "" {
		timeout = Whole(0, Day, "seconds")
	}
	return []Key{
		{Path: "loadBalancer.creationPollTimeout", Since: "0.1.0", Example: "600", Rule: timeout,
			Effect: "The time, in seconds, after which an event on the Service reports that its load balancer is not " +
				"ready yet. The controller continues to wait." + zero},
		{Path: "loadBalancer.drift", Since: "0.1.0", Example: string(report),
			Effect: fmt.Sprintf("What to do when something was changed in the cloud by hand. %[1]s reverts the "+
				"change and reports it. %[2]s only reports it. %[3]s does neither. With %[2]s and %[3]s the change "+
				"is reverted when the Service or its nodes change next, or when the program restarts.",
				repair, report, off),
			Rule: Matching(string(repair+"|"+report+"|"+off), string("one of "+repair+", "+report+", "+off))},
		{Path: "loadBalancer.removeOrphans", Since: "0.1.0", Example: "true",
			Effect: "Deletes load balancers of this cluster whose Service no longer exists, and what belongs to " +
				"them. If it is false, they are only reported, by an event and a metric. An object is deleted only " +
				"after two checks in a row and after the API server confirmed that the Service does not exist."},
	}
}

// RemovalKeys returns the keys of Removal.
func RemovalKeys() []Key {
	return []Key{
		{Path: "instancesV2.removalGracePeriod", Since: "0.1.0", Example: "300", Rule: Whole(1, Day, "seconds"),
			Effect: "The time, in seconds, that a machine must be missing before its node is deleted. The cloud must " +
				"report the machine as missing at the beginning and at the end of this time."},
		{Path: "instancesV2.maxRemovals", Since: "0.1.0", Example: "10", Rule: Whole(0, 100, "percent"),
			Effect: "The percentage of all nodes that may be deleted within removalWindow. If more nodes would be " +
				"deleted, none is deleted until fewer are due or this value is raised. One node may always be " +
				"deleted. 0 disables the deletion of nodes."},
		{Path: "instancesV2.removalWindow", Since: "0.1.0", Example: "3600", Rule: Whole(60, Day, "seconds"),
			Effect: "The time, in seconds, that maxRemovals applies to. In the first removalWindow after the program " +
				"starts, at most one node is deleted."},
		{Path: "instancesV2.dryRun", Since: "0.1.0", Example: "true",
			Effect: "Reports by events and metrics which nodes would be deleted, and deletes none."},
	}
}

// APIKeys returns the keys of API. Timeout is what the cloud adds to the description of callTimeout.
func APIKeys(timeout string) []Key {
	return []Key{
		{Path: "api.callTimeout", Since: "0.1.0", Example: "60", Rule: Whole(1, 600, "seconds"),
			Effect: "The timeout of one call of the cloud's API, in seconds. " + timeout},
		{Path: "api.requestsPerSecond", Since: "0.1.0", Example: "10", Rule: Whole(1, 1000, "calls"),
			Effect: "The maximum number of calls of the cloud's API per second, for the whole process."},
		{Path: "api.burst", Since: "0.1.0", Example: "20", Rule: Whole(1, 10000, "calls"),
			Effect: "The maximum number of calls of the cloud's API that can be made at once after a pause. 1 " +
				"spreads the calls evenly."},
	}
}
