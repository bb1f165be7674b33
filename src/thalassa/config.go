package thalassa

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/annotation"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/config"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
)

// Config is the content of the cloud-config file, completed by the environment and defaults. Its keys include those of
// the CCM that this program replaces; config_keys.go describes them. ReadSecrets reads the files that it refers to.
type Config struct {
	Organisation     string             `yaml:"organisation"` // identity or slug
	Project          string             `yaml:"project"`      // identity; may be empty
	Endpoint         string             `yaml:"endpoint"`     // base URL of the API
	CABundle         string             `yaml:"caBundle"`     // path of a PEM file; may be empty
	Insecure         bool               `yaml:"insecure"`     // do not verify the API's certificate
	CloudCredentials CloudCredentials   `yaml:"cloudCredentials"`
	VPCIdentity      string             `yaml:"vpcIdentity"`      // the VPC of the cluster's machines
	DefaultSubnet    string             `yaml:"defaultSubnet"`    // identity or slug; empty: found in the VPC
	Cluster          string             `yaml:"cluster"`          // the cluster's identity, a label of all its cloud objects
	ClusterCIDR      string             `yaml:"clusterCIDR"`      // the networks of all pods, one or one of each family; may be empty
	AdditionalLabels map[string]string  `yaml:"additionalLabels"` // put on all cloud objects
	LoadBalancer     LoadBalancerConfig `yaml:"loadBalancer"`
	InstancesV2      InstancesConfig    `yaml:"instancesV2"`
	Routes           RoutesConfig       `yaml:"routes"`
	Inventory        InventoryConfig    `yaml:"inventory"`
	API              APIConfig          `yaml:"api"`
}

// LoadBalancerConfig is about Services of type LoadBalancer.
type LoadBalancerConfig struct {
	Enabled              bool `yaml:"enabled"`
	CreationPollInterval int  `yaml:"creationPollInterval"` // seconds between two reads of a load balancer that is being created
	CreationPollTimeout  int  `yaml:"creationPollTimeout"`  // seconds after which an event says that it takes long
	DriftPeriod          int  `yaml:"driftPeriod"`          // seconds between two looks for changes made by hand; 0: never
	// Drift is the reaction to changes made by hand: driftRepair, driftReport or driftOff.
	Drift         string `yaml:"drift"`
	RemoveOrphans bool   `yaml:"removeOrphans"` // delete objects of Services that do not exist any more, instead of reporting them
	Class         string `yaml:"class"`         // the loadBalancerClass that is served; empty: none
	OnlyClass     bool   `yaml:"onlyClass"`     // leave Services without a class to others
	// Defaults are settings of Services that do not have the annotation: its name without the prefix -> value.
	Defaults map[string]string `yaml:"defaults"`
	// NodeSecurityGroup is the security group of the nodes, by identity or slug, in which rules are made for node
	// ports; empty: none are.
	NodeSecurityGroup string `yaml:"nodeSecurityGroup"`
}

// Reactions to changes made by hand.
const (
	driftRepair = string(cloud.Repair)
	driftReport = string(cloud.Report)
	driftOff    = string(cloud.Off)
)

// InstancesConfig is about nodes.
type InstancesConfig struct {
	Enabled              bool `yaml:"enabled"`
	ZoneAndRegionEnabled bool `yaml:"zoneAndRegionEnabled"` // label nodes with zone and region
	TypeLabels           bool `yaml:"typeLabels"`           // label nodes with processors and memory of the machine type
	// LabelPrefix and TaintPrefix begin the keys of machine labels that become labels and taints of the Node; empty:
	// none do.
	LabelPrefix string `yaml:"labelPrefix"`
	TaintPrefix string `yaml:"taintPrefix"`
	// MachineAnnotation is the annotation that names the machine of a Node without a provider ID; empty: only the
	// Node's name is used.
	MachineAnnotation  string `yaml:"machineAnnotation"`
	RemovalGracePeriod int    `yaml:"removalGracePeriod"` // seconds between the two checks that a machine does not exist
	MaxRemovals        int    `yaml:"maxRemovals"`        // percent of the nodes that may be removed within removalWindow
	RemovalWindow      int    `yaml:"removalWindow"`      // seconds
	DryRun             bool   `yaml:"dryRun"`             // report which nodes would be removed, and remove none
}

// RoutesConfig is about routes to the pods of nodes.
type RoutesConfig struct {
	Enabled     bool   `yaml:"enabled"`
	Table       string `yaml:"table"`       // identity or slug of the route table; empty: those of the nodes' subnets
	Exclusive   bool   `yaml:"exclusive"`   // nobody else has routes in Table within the cluster's networks
	DriftPeriod int    `yaml:"driftPeriod"` // seconds between two looks for changes made by hand; 0: never
}

// InventoryConfig is the maximum age of cached lists.
type InventoryConfig struct {
	MachineAge  int `yaml:"machineAge"`  // seconds, for lists of machines
	BalancerAge int `yaml:"balancerAge"` // seconds, for lists of load balancers
}

// APIConfig is for calls of the cloud's API.
type APIConfig struct {
	CallTimeout       int `yaml:"callTimeout"`       // seconds, for one call
	RequestsPerSecond int `yaml:"requestsPerSecond"` // of the whole process
	Burst             int `yaml:"burst"`             // calls at once after a pause
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Endpoint: "https://api.thalassa.cloud",
		CloudCredentials: CloudCredentials{WorkloadIdentity: WorkloadIdentity{SubjectTokenFile: subjectTokenFile,
			Lifetime: 3600}},
		LoadBalancer: LoadBalancerConfig{Enabled: true, CreationPollInterval: 5, CreationPollTimeout: 300,
			DriftPeriod: 300, Drift: driftRepair},
		InstancesV2: InstancesConfig{Enabled: true, ZoneAndRegionEnabled: true, RemovalGracePeriod: 60,
			MaxRemovals: 20, RemovalWindow: 600},
		Routes: RoutesConfig{DriftPeriod: 300},
		Inventory: InventoryConfig{MachineAge: inSeconds(inventory.MachineAge),
			BalancerAge: inSeconds(inventory.BalancerAge)},
		API: APIConfig{CallTimeout: inSeconds(client.DefaultCallTimeout),
			RequestsPerSecond: client.DefaultRate, Burst: client.DefaultBurst},
	}
}

// ReadConfig reads and checks the cloud-config file, but no files that it refers to. Missing values come from the
// environment; getenv is os.Getenv or a replacement. The error contains all mistakes with their key paths, and no
// secrets.
func ReadConfig(path string, getenv func(string) string) (Config, error) {
	c, file, err := openConfig(path, getenv)
	if err != nil {
		return Config{}, err
	}
	return c, file.Err()
}

// readConfigAndSecrets is ReadConfig and ReadSecrets in one, so that the error contains the mistakes of both.
func readConfigAndSecrets(path string, getenv func(string) string) (Config, client.Secrets, error) {
	c, file, err := openConfig(path, getenv)
	if err != nil {
		return Config{}, client.Secrets{}, err
	}
	secrets := c.readSecrets(file)
	return c, secrets, file.Err()
}

func openConfig(path string, getenv func(string) string) (Config, *config.File, error) {
	opened, err := os.Open(path)
	if err != nil {
		return Config{}, nil, fmt.Errorf("opening the cloud-config: %w", err)
	}
	defer opened.Close()
	c, file, err := parseConfig(opened, getenv)
	if err == nil {
		for _, warning := range file.Warnings() {
			klog.InfoS("The cloud-config should be written in another way", "path", path, "warning", warning)
		}
	}
	return c, file, err
}

// parseConfig returns the configuration and its mistakes; the error is that the file is not YAML.
func parseConfig(r io.Reader, getenv func(string) string) (Config, *config.File, error) {
	c := DefaultConfig()
	file, err := config.Decode(r, &c)
	if err != nil {
		return Config{}, nil, err
	}
	keys := ConfigKeys()
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
		c.LoadBalancer.CreationPollTimeout = DefaultConfig().LoadBalancer.CreationPollTimeout
		file.Warn("loadBalancer.creationPollTimeout",
			fmt.Sprintf("found 0, which is taken as the default; write %d, or leave it out",
				c.LoadBalancer.CreationPollTimeout))
	}
	c.LoadBalancer.checkDefaults(file)
	c.InstancesV2.checkPrefixes(file)
	return c, file, nil
}

// checkDefaults reports values that cannot be defaults of Services.
func (c LoadBalancerConfig) checkDefaults(file *config.File) {
	defaults := newAnnotations()
	problems := defaults.registry.SetDefaults(c.Defaults)
	for _, problem := range problems {
		path := "loadBalancer.defaults." + problem.Annotation
		switch {
		case !config.Matching(annotationNames, "").Allows(problem.Annotation): // the rule of the key reports it
		case problem.Name:
			file.Add(path, "", problem.Want)
		default:
			file.Add(path, strconv.Quote(problem.Value), "want "+problem.Want)
		}
	}
	if len(problems) > 0 {
		return
	}
	kind, internal := defaults.kind.From(annotation.Values{}), defaults.internal.From(annotation.Values{})
	if _, said := c.Defaults[nameInternal]; said && kind.Value == typeInternal && !internal.Value {
		file.Add("loadBalancer.defaults", "type: internal together with internal: false", "want only one of them")
	}
	check := settings{annotations: defaults}.portOf(annotation.Port{}).health.withInterval()
	if check.problem() != "" {
		file.Add("loadBalancer.defaults", fmt.Sprintf("health-check-timeout %d and health-check-interval %d",
			check.timeout.Value, check.interval.Value),
			"want a timeout of at most the interval; a value that is not set here has the default of its annotation")
	}
}

// checkPrefixes reports prefixes of which one begins with the other, because a label could then match both.
func (c InstancesConfig) checkPrefixes(file *config.File) {
	if c.LabelPrefix == "" || c.TaintPrefix == "" {
		return
	}
	if strings.HasPrefix(c.LabelPrefix, c.TaintPrefix) || strings.HasPrefix(c.TaintPrefix, c.LabelPrefix) {
		file.Add("instancesV2.taintPrefix", "a prefix that overlaps with labelPrefix",
			"want two prefixes of which neither begins with the other")
	}
}

// pollInterval is the interval at which a load balancer that is being created or deleted is read.
func (c LoadBalancerConfig) pollInterval() time.Duration { return seconds(c.CreationPollInterval) }

// behaviour returns the settings of the service controller.
func (c LoadBalancerConfig) behaviour() cloud.LoadBalancerBehaviour {
	return cloud.LoadBalancerBehaviour{
		PollInterval: c.pollInterval(), SlowAfter: seconds(c.CreationPollTimeout),
		DriftPeriod: seconds(c.DriftPeriod), Drift: cloud.DriftMode(c.Drift), RemoveOrphans: c.RemoveOrphans,
		Class: c.Class, OnlyClass: c.OnlyClass,
	}
}

// behaviour returns the settings of the node controllers.
func (c InstancesConfig) behaviour() cloud.MachineBehaviour {
	return cloud.MachineBehaviour{
		Domain: strings.TrimSuffix(labelReserved, "/"), GracePeriod: seconds(c.RemovalGracePeriod),
		Lists: true, MaxRemovals: c.MaxRemovals, RemovalWindow: seconds(c.RemovalWindow), DryRun: c.DryRun,
	}
}

func (c InventoryConfig) machineAge() time.Duration { return seconds(c.MachineAge) }

func (c InventoryConfig) balancerAge() time.Duration { return seconds(c.BalancerAge) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func inSeconds(d time.Duration) int { return int(d / time.Second) }
