// Package cloudconfig reads and checks the cloud-config file of a cluster on IronCore.
package cloudconfig

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
)

// Config is the content of the cloud-config file, completed by defaults. NetworkName, prefixName and clusterName are
// keys of the CCM that this program replaces. The others have the names and defaults that they have for Thalassa Cloud.
// keys.go describes all of them.
type Config struct {
	NetworkName string `yaml:"networkName"` // the Network of the cluster's machines
	// PrefixName and PrefixNameIPv6 are the parents of the Prefixes of internal load balancers; they may be empty.
	PrefixName     string `yaml:"prefixName"`
	PrefixNameIPv6 string `yaml:"prefixNameIPv6"`
	// ClusterName is the value of the label kubernetes.io/cluster on the cluster's objects.
	ClusterName string `yaml:"clusterName"`
	// FormerClusterUIDs are the UIDs of clusters whose objects this one takes over, separated by commas; may be empty.
	FormerClusterUIDs string `yaml:"formerClusterUIDs"`
	// Namespace contains the cluster's objects; empty: the namespace of the kubeconfig's context.
	Namespace    string             `yaml:"namespace"`
	LoadBalancer LoadBalancer       `yaml:"loadBalancer"`
	InstancesV2  configfile.Removal `yaml:"instancesV2"`
	API          configfile.API     `yaml:"api"`
}

// LoadBalancer is about Services of type LoadBalancer.
type LoadBalancer struct {
	configfile.Balancers `yaml:",inline"`
}

// Default returns the defaults.
func Default() Config {
	return Config{
		LoadBalancer: LoadBalancer{configfile.DefaultBalancers()},
		InstancesV2:  configfile.DefaultRemoval(),
		API:          configfile.DefaultAPI(),
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

func openFile(path string, from cloud.Environment) (Config, *configfile.File, error) {
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
	file.LogWarnings(path)
	return c, file, nil
}

// parse returns the configuration and its mistakes. The error is that the file is not YAML or JSON.
func parse(r io.Reader) (Config, *configfile.File, error) {
	c := Default()
	file, err := configfile.Decode(r, &c, Keys())
	if err != nil {
		return Config{}, nil, err
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
func (c Config) checkClusterName(file *configfile.File, flag string) {
	if flag == "" || flag == DefaultClusterName || c.ClusterName == "" || flag == c.ClusterName {
		return
	}
	file.Add("clusterName", fmt.Sprintf("%s, and %s in the flag --cluster-name", strconv.Quote(c.ClusterName),
		strconv.Quote(flag)),
		"want the same name in both: set both to the value of the label kubernetes.io/cluster on the Machines of "+
			"this cluster, or remove the flag")
}

// Validate checks a cloud-config file without using it. It returns the effective configuration as YAML, or the
// mistakes, one line each. The file refers to no other files, so that the last argument has no effect.
func Validate(path string, from cloud.Environment, _ bool) (effective []byte, problems []string) {
	c, err := Read(path, from, DefaultClusterName)
	return configfile.Effective(c, Keys(), err)
}

// Warnings returns what is accepted in a cloud-config file and should be written in another way, one line each.
func Warnings(path string, from cloud.Environment) []string {
	_, file, err := openFile(path, from)
	if err != nil {
		return nil // Validate reports it
	}
	return file.Warnings()
}

// Schema is the JSON schema of the cloud-config file.
func Schema() ([]byte, error) {
	return configfile.NewSchema("cloud-config of the cloud controller manager on IronCore", Default(), Keys())
}

// Behaviour returns the settings of the service controller. There is no period of checks, because the watches report
// all changes. A watch also reports that the wait has ended: only the report that it takes long needs a check.
func (c LoadBalancer) Behaviour() cloud.LoadBalancerBehaviour {
	behaviour := c.Balancers.Behaviour()
	behaviour.PollInterval = behaviour.SlowAfter + time.Second
	return behaviour
}
