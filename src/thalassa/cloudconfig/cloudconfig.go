// Package cloudconfig reads and checks the cloud-config file, and the files with secrets that it refers to.
package cloudconfig

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/config"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// Config is the content of the cloud-config file, completed by the environment and defaults. Its keys include those of
// the CCM that this program replaces; keys.go describes them. ReadSecrets reads the files that it refers to.
type Config struct {
	Organisation     string      `yaml:"organisation"` // identity or slug
	Project          string      `yaml:"project"`      // identity; may be empty
	Endpoint         string      `yaml:"endpoint"`     // base URL of the API
	CABundle         string      `yaml:"caBundle"`     // path of a PEM file; may be empty
	Insecure         bool        `yaml:"insecure"`     // do not verify the API's certificate
	CloudCredentials Credentials `yaml:"cloudCredentials"`
	VPCIdentity      string      `yaml:"vpcIdentity"`   // the VPC of the cluster's machines
	DefaultSubnet    string      `yaml:"defaultSubnet"` // identity or slug; empty: found in the VPC
	// Cluster is the cluster's identity, a label of all its cloud objects.
	Cluster string `yaml:"cluster"`
	// FormerClusterUIDs are the UIDs of clusters whose objects this one takes over, separated by commas; may be empty.
	FormerClusterUIDs string `yaml:"formerClusterUIDs"`
	// ClusterCIDR are the networks of all pods, one or one of each family; may be empty.
	ClusterCIDR      string            `yaml:"clusterCIDR"`
	AdditionalLabels map[string]string `yaml:"additionalLabels"` // put on all cloud objects
	LoadBalancer     LoadBalancer      `yaml:"loadBalancer"`
	InstancesV2      Instances         `yaml:"instancesV2"`
	Routes           Routes            `yaml:"routes"`
	Inventory        Inventory         `yaml:"inventory"`
	API              API               `yaml:"api"`
}

// LoadBalancer is about Services of type LoadBalancer.
type LoadBalancer struct {
	Enabled bool `yaml:"enabled"`
	// CreationPollInterval is the time between two reads of a load balancer that is being created, in seconds; 0: the
	// time grows from one second to defaultPollInterval.
	CreationPollInterval int `yaml:"creationPollInterval,omitempty"`
	CreationPollTimeout  int `yaml:"creationPollTimeout"` // seconds after which an event says that it takes long
	// DriftPeriod is the time between two checks for changes made by hand, in seconds; 0: never.
	DriftPeriod int `yaml:"driftPeriod"`
	// Drift is the reaction to changes made by hand: driftRepair, driftReport or driftOff.
	Drift string `yaml:"drift"`
	// RemoveOrphans deletes objects of Services that do not exist any more, instead of reporting them.
	RemoveOrphans bool   `yaml:"removeOrphans"`
	Class         string `yaml:"class"`     // the loadBalancerClass that is served; empty: none
	OnlyClass     bool   `yaml:"onlyClass"` // leave Services without a class to others
	// Defaults are settings of Services that do not have the annotation: its name without the prefix -> value.
	Defaults map[string]string `yaml:"defaults"`
	// NodeSecurityGroup is the security group of the nodes, by identity or slug, in which rules are made for node
	// ports; empty: none are.
	NodeSecurityGroup string `yaml:"nodeSecurityGroup"`
	MaxTargets        int    `yaml:"maxTargets"` // nodes that a load balancer sends to; 0: all
}

// MaxTargetsLimit is the largest number of nodes to which a load balancer can be limited.
const MaxTargetsLimit = 10000

// Reactions to changes made by hand.
const (
	driftRepair = string(cloud.Repair)
	driftReport = string(cloud.Report)
	driftOff    = string(cloud.Off)
)

// Instances is about nodes.
type Instances struct {
	Enabled              bool `yaml:"enabled"`
	ZoneAndRegionEnabled bool `yaml:"zoneAndRegionEnabled"` // label nodes with zone and region
	// TypeLabels adds labels with processors and memory of the machine type to nodes.
	TypeLabels bool `yaml:"typeLabels"`
	// LabelPrefix and TaintPrefix begin the keys of machine labels that become labels and taints of the Node; empty:
	// none do.
	LabelPrefix string `yaml:"labelPrefix"`
	TaintPrefix string `yaml:"taintPrefix"`
	// MachineAnnotation is the annotation that names the machine of a Node without a provider ID; empty: only the
	// Node's name is used.
	MachineAnnotation string `yaml:"machineAnnotation"`
	// RemovalGracePeriod is the time between the two checks that a machine does not exist, in seconds.
	RemovalGracePeriod int `yaml:"removalGracePeriod"`
	// MaxRemovals is the percentage of the nodes that may be removed within removalWindow.
	MaxRemovals   int  `yaml:"maxRemovals"`
	RemovalWindow int  `yaml:"removalWindow"` // seconds
	DryRun        bool `yaml:"dryRun"`        // report which nodes would be removed, and remove none
}

// Routes is about routes to the pods of nodes.
type Routes struct {
	Enabled     bool   `yaml:"enabled"`
	Table       string `yaml:"table"`       // identity or slug of the route table; empty: those of the nodes' subnets
	Exclusive   bool   `yaml:"exclusive"`   // nobody else has routes in Table within the cluster's networks
	DriftPeriod int    `yaml:"driftPeriod"` // seconds between two looks for changes made by hand; 0: never
}

// Inventory is the maximum age of cached lists.
type Inventory struct {
	MachineAge  int `yaml:"machineAge"`  // seconds, for lists of machines
	BalancerAge int `yaml:"balancerAge"` // seconds, for lists of load balancers
}

// API is for calls of the cloud's API.
type API struct {
	CallTimeout       int `yaml:"callTimeout"`       // seconds, for one call
	RequestsPerSecond int `yaml:"requestsPerSecond"` // of the whole process
	Burst             int `yaml:"burst"`             // calls at once after a pause
}

// Default returns the defaults.
func Default() Config {
	return Config{
		Endpoint: "https://api.thalassa.cloud",
		CloudCredentials: Credentials{WorkloadIdentity: WorkloadIdentity{SubjectTokenFile: subjectTokenFile,
			Lifetime: 3600}},
		LoadBalancer: LoadBalancer{Enabled: true, CreationPollTimeout: 300, DriftPeriod: 300,
			Drift: driftRepair},
		InstancesV2: Instances{Enabled: true, ZoneAndRegionEnabled: true, RemovalGracePeriod: 60,
			MaxRemovals: 20, RemovalWindow: 600},
		Routes:    Routes{DriftPeriod: 300},
		Inventory: Inventory{MachineAge: 60, BalancerAge: 600},
		API:       API{CallTimeout: 30, RequestsPerSecond: 50, Burst: 100},
	}
}

// Check reports mistakes that depend on more than the keys of the file, such as those in defaults of annotations.
type Check func(Config, *config.File)

// Read reads and checks the cloud-config file, and the files with secrets that it refers to. Missing values come from
// the environment. The error contains all mistakes with their key paths, and no secrets.
func Read(path string, from cloud.Environment, checks ...Check) (Config, secret.Secrets, error) {
	return readFile(path, from, true, checks...)
}

// Scope returns the settings of a file that say which cloud and which cluster it is about, by their keys. The VPC is of
// one organisation, which a file may call by its slug. Files that this one refers to are not read.
func Scope(path string, from cloud.Environment) (map[string]string, error) {
	c, _, err := readFile(path, from, false)
	return map[string]string{"endpoint": c.Endpoint, "vpcIdentity": c.VPCIdentity, "cluster": c.Cluster}, err
}

// readFile is Read, or without files the same without the files that the configuration refers to.
func readFile(path string, from cloud.Environment, files bool, checks ...Check) (Config, secret.Secrets, error) {
	opened, err := from.Open(path)
	if err != nil {
		return Config{}, secret.Secrets{}, fmt.Errorf("opening the cloud-config: %w", err)
	}
	defer opened.Close()
	c, file, err := parseFile(opened, from.Getenv, checks...)
	if err != nil {
		return Config{}, secret.Secrets{}, err
	}
	for _, warning := range file.Warnings() {
		klog.InfoS("The cloud-config should be written in another way", "path", path, "warning", warning)
	}
	var secrets secret.Secrets
	if files {
		secrets = c.readSecrets(from, file)
	}
	return c, secrets, file.Err()
}

// parseFile returns the configuration and its mistakes; the error is that the file is not YAML.
func parseFile(r io.Reader, getenv func(string) string, checks ...Check) (Config, *config.File, error) {
	c := Default()
	file, err := config.Decode(r, &c)
	if err != nil {
		return Config{}, nil, err
	}
	keys := Keys()
	identity := &c.CloudCredentials.WorkloadIdentity
	exchange := chooseCredentials(file, getenv)
	if !exchange {
		*identity = WorkloadIdentity{}
		keys = slices.DeleteFunc(keys, func(k config.Key) bool {
			return strings.HasPrefix(k.Path, pathWorkloadIdentity+".")
		})
	}
	file.Apply(keys, getenv)
	if exchange && identity.OrganisationID == "" {
		identity.OrganisationID = c.Organisation
	}
	if c.Insecure && c.CABundle != "" {
		file.Add("insecure", "true together with caBundle",
			"want only one of the two: without verification of the certificate, a bundle has no effect")
	}
	if c.Routes.Exclusive && c.Routes.Table == "" {
		file.Add("routes.exclusive", "true without routes.table",
			"want the identity or slug of a route table that only this cluster uses, in routes.table")
	}
	if c.LoadBalancer.CreationPollTimeout == 0 {
		c.LoadBalancer.CreationPollTimeout = Default().LoadBalancer.CreationPollTimeout
		file.Warn("loadBalancer.creationPollTimeout",
			fmt.Sprintf("found 0, which is taken as the default; write %d, or leave it out",
				c.LoadBalancer.CreationPollTimeout))
	}
	for _, check := range checks {
		check(c, file)
	}
	c.InstancesV2.checkPrefixes(file)
	return c, file, nil
}

// checkPrefixes reports prefixes of which one begins with the other, because a label could then match both.
func (c Instances) checkPrefixes(file *config.File) {
	if c.LabelPrefix == "" || c.TaintPrefix == "" {
		return
	}
	if strings.HasPrefix(c.LabelPrefix, c.TaintPrefix) || strings.HasPrefix(c.TaintPrefix, c.LabelPrefix) {
		file.Add("instancesV2.taintPrefix", "a prefix that overlaps with labelPrefix",
			"want two prefixes of which neither begins with the other")
	}
}

// defaultPollInterval is the longest interval if none is configured, in seconds.
const defaultPollInterval = 5

// PollInterval is the longest interval at which a load balancer that is being created or deleted is read.
func (c LoadBalancer) PollInterval() time.Duration {
	return seconds(cmp.Or(c.CreationPollInterval, defaultPollInterval))
}

// Behaviour returns the settings of the service controller.
func (c LoadBalancer) Behaviour() cloud.LoadBalancerBehaviour {
	return cloud.LoadBalancerBehaviour{
		PollInterval: c.PollInterval(), SlowAfter: seconds(c.CreationPollTimeout),
		DriftPeriod: seconds(c.DriftPeriod), Drift: cloud.DriftMode(c.Drift), RemoveOrphans: c.RemoveOrphans,
		Class: c.Class, OnlyClass: c.OnlyClass,
	}
}

// Behaviour returns the settings of the node controllers.
func (c Instances) Behaviour() cloud.MachineBehaviour {
	return cloud.MachineBehaviour{
		Domain: label.Domain, GracePeriod: seconds(c.RemovalGracePeriod),
		Lists: true, MaxRemovals: c.MaxRemovals, RemovalWindow: seconds(c.RemovalWindow), DryRun: c.DryRun,
	}
}

// MaxMachineAge is the maximum age of lists of machines.
func (c Inventory) MaxMachineAge() time.Duration { return seconds(c.MachineAge) }

// MaxBalancerAge is the maximum age of lists of load balancers and of what belongs to them.
func (c Inventory) MaxBalancerAge() time.Duration { return seconds(c.BalancerAge) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// MachineLabels are the prefixes of those labels of machines that Nodes get.
func (c Instances) MachineLabels() []string {
	return slices.DeleteFunc([]string{c.LabelPrefix, c.TaintPrefix}, func(prefix string) bool { return prefix == "" })
}

// Behaviour returns the settings of the route controller.
func (c Routes) Behaviour() cloud.RouteBehaviour {
	return cloud.RouteBehaviour{DriftPeriod: seconds(c.DriftPeriod)}
}

// Timeout is the maximum duration of one call.
func (c API) Timeout() time.Duration { return seconds(c.CallTimeout) }

// Warn logs settings that are allowed and dangerous.
func (c Config) Warn() {
	for _, line := range c.dangers() {
		klog.InfoS("Warning: " + line)
	}
}

// dangers describes settings that are allowed and dangerous, one line each.
func (c Config) dangers() (lines []string) {
	endpoint, err := url.Parse(c.Endpoint)
	if err == nil && endpoint.Scheme == "http" && !isLoopback(endpoint.Hostname()) {
		lines = append(lines, fmt.Sprintf("endpoint: %s begins with http://, so the credentials are sent without "+
			"encryption; use https://", endpoint.Redacted()))
	}
	if c.Insecure {
		lines = append(lines, "insecure: the API's certificate is not verified, and an attacker on the network can "+
			"read the credentials; use caBundle")
	}
	return lines
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && address.IsLoopback())
}
