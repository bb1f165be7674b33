// Package cloudconfig reads and checks the cloud-config file of a cluster on IronCore.
package cloudconfig

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/config"
)

// Config is the content of the cloud-config file, completed by defaults. The first three keys are those of the CCM that
// this program replaces. The others have the names and defaults that they have for Thalassa Cloud. keys.go describes
// all of them.
type Config struct {
	NetworkName string `yaml:"networkName"` // the Network of the cluster's machines
	PrefixName  string `yaml:"prefixName"`  // the parent of the Prefixes of internal load balancers; may be empty
	// ClusterName is the value of the label kubernetes.io/cluster on the cluster's objects.
	ClusterName string `yaml:"clusterName"`
	// FormerClusterUIDs are the UIDs of clusters whose objects this one takes over, separated by commas; may be empty.
	FormerClusterUIDs string `yaml:"formerClusterUIDs"`
	// Namespace contains the cluster's objects; empty: the namespace of the kubeconfig's context.
	Namespace    string       `yaml:"namespace"`
	LoadBalancer LoadBalancer `yaml:"loadBalancer"`
	InstancesV2  Instances    `yaml:"instancesV2"`
	API          API          `yaml:"api"`
}

// LoadBalancer is about Services of type LoadBalancer.
type LoadBalancer struct {
	CreationPollTimeout int `yaml:"creationPollTimeout"` // seconds after which an event says that it takes long
	// Drift is the reaction to changes made by hand: driftRepair, driftReport or driftOff.
	Drift string `yaml:"drift"`
	// RemoveOrphans deletes objects of Services that do not exist any more, instead of reporting them.
	RemoveOrphans bool `yaml:"removeOrphans"`
}

// Reactions to changes made by hand.
const (
	driftRepair = string(cloud.Repair)
	driftReport = string(cloud.Report)
	driftOff    = string(cloud.Off)
)

// Instances is about nodes.
type Instances struct {
	// RemovalGracePeriod is the time between the two checks that a machine does not exist, in seconds.
	RemovalGracePeriod int `yaml:"removalGracePeriod"`
	// MaxRemovals is the percentage of the nodes that may be removed within RemovalWindow.
	MaxRemovals   int  `yaml:"maxRemovals"`
	RemovalWindow int  `yaml:"removalWindow"` // seconds
	DryRun        bool `yaml:"dryRun"`        // report which nodes would be removed, and remove none
}

// API is about requests to the IronCore API.
type API struct {
	CallTimeout       int `yaml:"callTimeout"`       // seconds, for one request that is not a watch
	RequestsPerSecond int `yaml:"requestsPerSecond"` // of the whole process
	Burst             int `yaml:"burst"`             // requests at once after a pause
}

// Default returns the defaults.
func Default() Config {
	return Config{
		LoadBalancer: LoadBalancer{CreationPollTimeout: 300, Drift: driftRepair},
		InstancesV2:  Instances{RemovalGracePeriod: 60, MaxRemovals: 20, RemovalWindow: 600},
		API:          API{CallTimeout: 30, RequestsPerSecond: 50, Burst: 100},
	}
}

// Read reads and checks the cloud-config file. The error contains all mistakes with their keys. ClusterName is the
// value of --cluster-name, which must be that of the file: see checkClusterName.
func Read(path string, from cloud.Environment, clusterName string) (Config, error) {
	c, file, err := openFile(path, from)
	if err != nil {
		return Config{}, err
	}
	c.checkClusterName(file, clusterName)
	return c, file.Err()
}

func openFile(path string, from cloud.Environment) (Config, *config.File, error) {
	if path == "" {
		return Config{}, nil, errors.New("missing --cloud-config: pass the path of a file with the keys networkName " +
			"and clusterName")
	}
	opened, err := from.Open(path)
	if err != nil {
		return Config{}, nil, fmt.Errorf("opening the cloud-config: %w", err)
	}
	defer opened.Close()
	c, file, err := parse(opened)
	if err != nil {
		return Config{}, nil, fmt.Errorf("reading the cloud-config: %w", err)
	}
	for _, warning := range file.Warnings() {
		klog.InfoS("The cloud-config should be written in another way", "path", path, "warning", warning)
	}
	return c, file, nil
}

// parse returns the configuration and its mistakes. The error is that the file is not YAML or JSON.
func parse(r io.Reader) (Config, *config.File, error) {
	c := Default()
	file, err := config.Decode(r, &c)
	if err != nil {
		return Config{}, nil, err
	}
	for path, name := range map[string]string{"networkName": c.NetworkName, "prefixName": c.PrefixName} {
		if len(name) > maxName {
			file.Add(path, fmt.Sprintf("text of %d characters", len(name)), "want "+wantName)
		}
	}
	file.Apply(Keys(), noEnvironment)
	return c, file, nil
}

// noEnvironment is the environment of keys that the environment cannot give.
func noEnvironment(string) string { return "" }

// DefaultClusterName is the value of --cluster-name if the flag is not set.
const DefaultClusterName = "kubernetes"

// checkClusterName reports that --cluster-name differs from clusterName: objects would have the label of one cluster
// and be selected by that of another. The default of the flag counts as not set, because it cannot be distinguished
// from the flag with that value: only the value of the file is used in both cases.
func (c Config) checkClusterName(file *config.File, flag string) {
	if flag == "" || flag == DefaultClusterName || c.ClusterName == "" || flag == c.ClusterName {
		return
	}
	file.Add("clusterName", fmt.Sprintf("%s, and %s in the flag --cluster-name", strconv.Quote(c.ClusterName),
		strconv.Quote(flag)),
		"want the same name in both: set both to the value of the label kubernetes.io/cluster on the Machines of "+
			"this cluster, or remove the flag")
}

// Behaviour returns the settings of the service controller. There is no period of checks, because the watches report
// all changes.
func (c LoadBalancer) Behaviour() cloud.LoadBalancerBehaviour {
	slow := seconds(c.CreationPollTimeout)
	return cloud.LoadBalancerBehaviour{
		// A watch reports that the wait has ended. Only the report that it takes long needs a check at a time.
		PollInterval: slow + time.Second, SlowAfter: slow,
		Drift: cloud.DriftMode(c.Drift), RemoveOrphans: c.RemoveOrphans,
	}
}

// Behaviour returns the settings of the node controllers, apart from the domain of their annotations.
func (c Instances) Behaviour() cloud.MachineBehaviour {
	return cloud.MachineBehaviour{
		Lists: true, GracePeriod: seconds(c.RemovalGracePeriod), MaxRemovals: c.MaxRemovals,
		RemovalWindow: seconds(c.RemovalWindow), DryRun: c.DryRun,
	}
}

// Timeout is the maximum duration of one request that is not a watch.
func (c API) Timeout() time.Duration { return seconds(c.CallTimeout) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
