package thalassa

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/config"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// Config is the cloud-config file. Its keys are those of the CCM this one replaces, and `cloudCredentials.directory`.
type Config struct {
	Organisation     string             `yaml:"organisation"`     // identity or slug
	Project          string             `yaml:"project"`          // identity; may be empty
	Endpoint         string             `yaml:"endpoint"`         // base URL of the API
	Insecure         bool               `yaml:"insecure"`         // do not verify the API's certificate
	CloudCredentials CloudCredentials   `yaml:"cloudCredentials"` // exactly one of its forms
	VPCIdentity      string             `yaml:"vpcIdentity"`      // the VPC of the cluster's machines
	DefaultSubnet    string             `yaml:"defaultSubnet"`    // identity or slug; empty: found in the VPC
	Cluster          string             `yaml:"cluster"`          // the cluster's identity, in a label of all its cloud objects
	AdditionalLabels map[string]string  `yaml:"additionalLabels"` // put on all cloud objects
	LoadBalancer     LoadBalancerConfig `yaml:"loadBalancer"`
	InstancesV2      InstancesConfig    `yaml:"instancesV2"`
}

// CloudCredentials are given in one of three forms: a personal access token, an OIDC client with its secret, or a directory
// that holds either as files (personalAccessToken, or clientID and clientSecret), like a mounted Secret.
type CloudCredentials struct {
	PersonalAccessToken string `yaml:"personalAccessToken"`
	ClientID            string `yaml:"clientID"`
	ClientSecret        string `yaml:"clientSecret"`
	Directory           string `yaml:"directory"`
}

// LoadBalancerConfig is about Services of type LoadBalancer.
type LoadBalancerConfig struct {
	Enabled              bool `yaml:"enabled"`
	CreationPollInterval int  `yaml:"creationPollInterval"` // seconds between two looks at a load balancer that is being made
	CreationPollTimeout  int  `yaml:"creationPollTimeout"`  // seconds after which an event says that it takes long
}

// InstancesConfig is about nodes.
type InstancesConfig struct {
	Enabled              bool `yaml:"enabled"`
	ZoneAndRegionEnabled bool `yaml:"zoneAndRegionEnabled"` // label nodes with zone and region
}

// maxSeconds bounds all configured durations to a day: more is a mistake in the unit.
const maxSeconds = 86400

// DefaultConfig is what a file starts from.
func DefaultConfig() Config {
	return Config{
		Endpoint:     "https://api.thalassa.cloud",
		LoadBalancer: LoadBalancerConfig{Enabled: true, CreationPollInterval: 5, CreationPollTimeout: 300},
		InstancesV2:  InstancesConfig{Enabled: true, ZoneAndRegionEnabled: true},
	}
}

// ReadConfig reads and checks the cloud-config file. Its error names everything that is wrong with the file at once, by key
// path, and never repeats a secret. Credentials given as a directory are read from there.
func ReadConfig(path string) (Config, client.Credentials, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, client.Credentials{}, fmt.Errorf("opening the cloud-config: %w", err)
	}
	defer file.Close()
	c, credentials, err := parseConfig(file)
	if err != nil {
		return Config{}, client.Credentials{}, fmt.Errorf("cloud-config %s: %w", path, err)
	}
	return c, credentials, nil
}

func parseConfig(r io.Reader) (Config, client.Credentials, error) {
	c := DefaultConfig()
	problems, err := config.Decode(r, &c)
	if err != nil {
		return Config{}, client.Credentials{}, err
	}
	// Keys with a wrong type are reported once, not again as missing.
	reported := map[string]bool{}
	for _, problem := range problems {
		reported[problem.Path] = true
	}
	var more config.Problems
	c.check(&more)
	credentials := c.CloudCredentials.resolve(&more)
	for _, problem := range more {
		if !reported[problem.Path] {
			problems = append(problems, problem)
		}
	}
	return c, credentials, problems.Err()
}

func (c Config) check(problems *config.Problems) {
	for _, required := range []struct{ path, value, want string }{
		{"organisation", c.Organisation, "missing: want the organisation's identity or slug"},
		{"vpcIdentity", c.VPCIdentity, `missing: want the identity of the VPC that the cluster's machines are in, like "vpc-…"`},
		{"cluster", c.Cluster, `missing: want an identity of this cluster, unique in the organisation, like "k8s-…"; its cloud objects are labelled with it`},
	} {
		if strings.TrimSpace(required.value) == "" {
			problems.Add(required.path, "", required.want)
		}
	}
	if u, err := url.Parse(c.Endpoint); err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" {
		problems.Add("endpoint", fmt.Sprintf("%q", c.Endpoint), "want a URL like https://api.thalassa.cloud")
	}
	checkSeconds("loadBalancer.creationPollInterval", c.LoadBalancer.CreationPollInterval, problems)
	checkSeconds("loadBalancer.creationPollTimeout", c.LoadBalancer.CreationPollTimeout, problems)
}

func checkSeconds(path string, seconds int, problems *config.Problems) {
	if seconds < 1 || seconds > maxSeconds {
		problems.Add(path, fmt.Sprint(seconds), fmt.Sprintf("want a whole number of seconds from 1 to %d", maxSeconds))
	}
}

// pollInterval is how often a load balancer that is being made, or deleted, is looked at.
func (c LoadBalancerConfig) pollInterval() time.Duration {
	return time.Duration(c.CreationPollInterval) * time.Second
}

func (c LoadBalancerConfig) driftPeriod() time.Duration { return 5 * time.Minute }

func (c LoadBalancerConfig) pollTimeout() time.Duration {
	return time.Duration(c.CreationPollTimeout) * time.Second
}

// resolve returns the one credential that is given.
func (c CloudCredentials) resolve(problems *config.Problems) client.Credentials {
	const path = "cloudCredentials"
	const forms = "want exactly one of personalAccessToken, clientID with clientSecret, or directory"
	var given []string
	for _, form := range []struct {
		name string
		set  bool
	}{
		{"personalAccessToken", c.PersonalAccessToken != ""},
		{"clientID and clientSecret", c.ClientID != "" || c.ClientSecret != ""},
		{"directory", c.Directory != ""},
	} {
		if form.set {
			given = append(given, form.name)
		}
	}
	switch {
	case len(given) == 0:
		problems.Add(path, "none", forms)
	case len(given) > 1:
		problems.Add(path, strings.Join(given, " and "), forms)
	case c.Directory != "":
		return readCredentials(c.Directory, problems)
	case c.PersonalAccessToken == "" && (c.ClientID == "" || c.ClientSecret == ""):
		problems.Add(path, "only half of clientID and clientSecret", "want both")
	}
	return client.Credentials{PersonalAccessToken: c.PersonalAccessToken, ClientID: c.ClientID, ClientSecret: c.ClientSecret}
}

// readCredentials reads a directory as a Secret is mounted: one file a key.
func readCredentials(directory string, problems *config.Problems) client.Credentials {
	const path = "cloudCredentials.directory"
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems.Add(path, directory, err.Error())
		}
		return strings.TrimSpace(string(content))
	}
	c := client.Credentials{PersonalAccessToken: read("personalAccessToken"), ClientID: read("clientID"), ClientSecret: read("clientSecret")}
	token, oidc := c.PersonalAccessToken != "", c.ClientID != "" && c.ClientSecret != ""
	if half := c.ClientID != "" || c.ClientSecret != ""; token == oidc || half != oidc {
		problems.Add(path, directory, "want it to hold either the file personalAccessToken, or the files clientID and clientSecret")
	}
	return c
}
