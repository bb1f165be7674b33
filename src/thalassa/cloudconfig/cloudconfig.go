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
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/secret"
)

// Config is the content of the cloud-config file, completed by the environment and defaults. Its keys include those of
// the CCM that this program replaces; keys.go describes them. ReadSecrets reads the files that it refers to.
type Config struct {
	Organisation      string            `yaml:"organisation"` // identity or slug
	Project           string            `yaml:"project"`      // identity; may be empty
	Endpoint          string            `yaml:"endpoint"`     // base URL of the API
	CABundle          string            `yaml:"caBundle"`     // path of a PEM file; may be empty
	Insecure          bool              `yaml:"insecure"`     // do not verify the API's certificate
	CloudCredentials  Credentials       `yaml:"cloudCredentials"`
	VPCIdentity       string            `yaml:"vpcIdentity"`       // the VPC of the cluster's machines
	DefaultSubnet     string            `yaml:"defaultSubnet"`     // identity or slug; empty: found in the VPC
	Cluster           string            `yaml:"cluster"`           // a label of all objects of the cluster
	FormerClusterUIDs string            `yaml:"formerClusterUIDs"` // separated by commas; may be empty
	ClusterCIDR       string            `yaml:"clusterCIDR"`       // one, or one of each family; may be empty
	AdditionalLabels  map[string]string `yaml:"additionalLabels"`  // put on all cloud objects
	LoadBalancer      LoadBalancer      `yaml:"loadBalancer"`
	InstancesV2       Instances         `yaml:"instancesV2"`
	Routes            Routes            `yaml:"routes"`
	Inventory         Inventory         `yaml:"inventory"`
	API               configfile.API    `yaml:"api"`
}

// LoadBalancer is about Services of type LoadBalancer.
type LoadBalancer struct {
	Enabled bool `yaml:"enabled"`
	// CreationPollInterval is the time between two reads of a load balancer that is being created, in seconds; 0: the
	// time grows from one second to defaultPollInterval.
	CreationPollInterval int `yaml:"creationPollInterval,omitempty"`
	configfile.Balancers `yaml:",inline"`
	DriftPeriod          int               `yaml:"driftPeriod"` // seconds between two checks for drift; 0: never
	Class                string            `yaml:"class"`       // the loadBalancerClass that is served; empty: none
	OnlyClass            bool              `yaml:"onlyClass"`   // leave Services without a class to others
	Defaults             map[string]string `yaml:"defaults"`    // an annotation's name without the prefix -> value
	MaxTargets           int               `yaml:"maxTargets"`  // nodes that a load balancer sends to; 0: all
}

// MaxTargetsLimit is the largest number of nodes to which a load balancer can be limited.
const MaxTargetsLimit = 10000

// Instances is about nodes.
type Instances struct {
	Enabled              bool   `yaml:"enabled"`
	ZoneAndRegionEnabled bool   `yaml:"zoneAndRegionEnabled"` // label nodes with zone and region
	TypeLabels           bool   `yaml:"typeLabels"`           // label nodes with processors and memory
	LabelPrefix          string `yaml:"labelPrefix"`          // of machine labels that become labels; empty: none do
	TaintPrefix          string `yaml:"taintPrefix"`          // of machine labels that become taints; empty: none do
	MachineAnnotation    string `yaml:"machineAnnotation"`    // names the machine of a Node; empty: only its name does
	configfile.Removal   `yaml:",inline"`
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

// Default returns the defaults.
func Default() Config {
	return Config{
		Endpoint: "https://api.thalassa.cloud",
		CloudCredentials: Credentials{WorkloadIdentity: WorkloadIdentity{SubjectTokenFile: subjectTokenFile,
			Lifetime: 3600}},
		LoadBalancer: LoadBalancer{Balancers: configfile.DefaultBalancers(), Enabled: true, DriftPeriod: 300},
		InstancesV2:  Instances{Removal: configfile.DefaultRemoval(), Enabled: true, ZoneAndRegionEnabled: true},
		Routes:       Routes{DriftPeriod: 300},
		Inventory:    Inventory{MachineAge: 60, BalancerAge: 600},
		API:          configfile.DefaultAPI(),
	}
}

// Check reports mistakes that depend on more than the keys of the file, such as those in defaults of annotations.
type Check func(Config, *configfile.File)

// Read reads and checks the cloud-config file, and the files with secrets that it refers to. Missing values come from
// the environment. The error contains all mistakes with their key paths, and no secrets.
func Read(path string, from cloud.Environment, checks ...Check) (Config, secret.Secrets, error) {
	c, file, err := open(path, from, checks...)
	if err != nil {
		return Config{}, secret.Secrets{}, err
	}
	file.LogWarnings(path)
	secrets := c.readSecrets(from, file)
	return c, secrets, file.Err()
}

// Scope returns the settings of a file that say which cloud and which cluster it is about, by their keys. The VPC is of
// one organisation, which a file may call by its slug. Files that this one refers to are not read.
func Scope(path string, from cloud.Environment) (map[string]string, error) {
	c, file, err := open(path, from)
	if err == nil {
		err = file.Err()
	}
	return map[string]string{"endpoint": c.Endpoint, "vpcIdentity": c.VPCIdentity, "cluster": c.Cluster}, err
}

// Validate checks a cloud-config file without using it. It returns the effective configuration as YAML, without
// secrets, or the mistakes, one line each. With files, it also checks the files that the configuration refers to.
func Validate(path string, from cloud.Environment, files bool, checks ...Check) (effective []byte, problems []string) {
	c, file, err := open(path, from, checks...) // once: it may be a pipe
	if err == nil && files {
		c.readSecrets(from, file)
	}
	if err == nil {
		err = file.Err()
	}
	return configfile.Effective(c, Keys(), err)
}

// Warnings returns what is accepted in a cloud-config file, and is dangerous or should be written in another way, one
// line each.
func Warnings(path string, from cloud.Environment) []string {
	c, file, err := open(path, from)
	if err != nil {
		return nil // Validate reports it
	}
	return append(file.Warnings(), c.dangers()...)
}

// open is parseFile for the file at a path.
func open(path string, from cloud.Environment, checks ...Check) (Config, *configfile.File, error) {
	opened, err := from.Open(path)
	if err != nil {
		return Config{}, nil, fmt.Errorf("opening the cloud-config: %w", err)
	}
	defer opened.Close()
	return parseFile(opened, from.Getenv, checks...)
}

// parseFile returns the configuration and its mistakes; the error is that the file is not YAML.
func parseFile(r io.Reader, getenv func(string) string, checks ...Check) (Config, *configfile.File, error) {
	c, keys := Default(), Keys()
	file, err := configfile.Decode(r, &c, keys)
	if err != nil {
		return Config{}, nil, err
	}
	identity := &c.CloudCredentials.WorkloadIdentity
	exchange := exchanges(file, getenv)
	if !exchange {
		*identity = WorkloadIdentity{}
		keys = slices.DeleteFunc(keys, func(k configfile.Key) bool {
			return strings.HasPrefix(k.Path, pathWorkloadIdentity+".")
		})
	}
	file.Apply(keys, getenv)
	checkCredentials(file, exchange)
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
func (c Instances) checkPrefixes(file *configfile.File) {
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
	behaviour := c.Balancers.Behaviour()
	behaviour.PollInterval, behaviour.DriftPeriod = c.PollInterval(), seconds(c.DriftPeriod)
	behaviour.Class, behaviour.OnlyClass = c.Class, c.OnlyClass
	return behaviour
}

// Behaviour returns the settings of the node controllers.
func (c Instances) Behaviour() cloud.MachineBehaviour {
	behaviour := c.Removal.Behaviour()
	behaviour.Domain = label.Domain
	return behaviour
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
