package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	"github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

const (
	// machineType is the size of the demo's servers.
	machineType = "pgp-small"
	// createDelay and deleteDelay are how long the cloud takes for a load balancer.
	createDelay, deleteDelay = 2 * time.Second, time.Second
	// cloudTimeout bounds the start of the emulator, and every call to it.
	cloudTimeout = 15 * time.Second
	// pollInterval is how often a condition is checked that has no event to wait for.
	pollInterval = 200 * time.Millisecond
)

// cloud is the emulated cloud, seen from outside: as one of its customers, and through its admin API.
type cloud struct {
	Endpoint     string `json:"endpoint"`
	Organisation string `json:"organisation"`
	VPC          string `json:"vpc"`
	Subnet       string `json:"subnet"`
	api          *iaas.Client
	http         http.Client
}

// startCloud starts the emulator as a process of its own and returns it once it answers.
func (s *stage) startCloud(ctx context.Context) (*cloud, error) {
	ready := s.folder.File("cloud.json")
	p, err := process.Start(context.WithoutCancel(ctx), process.Spec{
		Name: "thalassa-emulator", Path: s.programs.emulator, LogPath: s.folder.File("cloud.log"), Env: []string{},
		Args: []string{
			"--listen=127.0.0.1:0", "--data-plane=loopback", "--loopback-network=auto", "--ready-file=" + ready,
			"--lb-create-delay=" + createDelay.String(), "--lb-delete-delay=" + deleteDelay.String(),
		},
	})
	if err != nil {
		return nil, err
	}
	s.later("the cloud", func(context.Context) error { return p.Stop(cloudTimeout) })
	limits := poll.Limits{Every: pollInterval, For: cloudTimeout, Needs: p}
	err = limits.Until(ctx, "the cloud answers", func(context.Context) error {
		_, err := os.Stat(ready)
		return err
	})
	if err != nil {
		return nil, err
	}
	return connectCloud(ready)
}

func connectCloud(readyFile string) (*cloud, error) {
	content, err := os.ReadFile(readyFile)
	if err != nil {
		return nil, fmt.Errorf("reading where the cloud is: %w", err)
	}
	c := &cloud{http: http.Client{Timeout: cloudTimeout}}
	if err := json.Unmarshal(content, c); err != nil {
		return nil, fmt.Errorf("reading where the cloud is: %w", err)
	}
	raw, err := client.NewClient(client.WithBaseURL(c.Endpoint), client.WithOrganisation(c.Organisation),
		client.WithAuthPersonalToken(emulator.DefaultToken), client.WithTimeout(cloudTimeout))
	if err != nil {
		return nil, fmt.Errorf("preparing a client of the cloud: %w", err)
	}
	c.api, err = iaas.New(raw)
	return c, err
}

// addServer creates a server in the cloud and returns its address.
func (c *cloud) addServer(ctx context.Context, name, zone string) (address string, err error) {
	created, err := c.api.CreateMachine(ctx, iaas.CreateMachine{
		Name: name, Subnet: c.Subnet, MachineType: machineType, AvailabilityZone: &zone,
	})
	if err != nil {
		return "", fmt.Errorf("creating server %s in the cloud: %w", name, err)
	}
	server, err := c.api.GetMachine(ctx, created.Identity)
	if err != nil {
		return "", fmt.Errorf("reading server %s: %w", name, err)
	}
	for _, network := range server.Interfaces {
		if len(network.IPAddresses) > 0 {
			return network.IPAddresses[0], nil
		}
	}
	return "", fmt.Errorf("server %s has no address", name)
}

// balancers is what the cloud's load balancers do at the moment.
func (c *cloud) balancers(ctx context.Context) ([]emulator.LoadBalancerState, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Endpoint+"/_emulator/state", nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the cloud for its load balancers: %w", err)
	}
	defer response.Body.Close()
	var state emulator.State
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil {
		return nil, fmt.Errorf("reading the cloud's load balancers: %w", err)
	}
	return state.LoadBalancers, nil
}

// balancer returns the load balancer with that address.
func (c *cloud) balancer(ctx context.Context, address string) (emulator.LoadBalancerState, error) {
	all, err := c.balancers(ctx)
	if err != nil {
		return emulator.LoadBalancerState{}, err
	}
	i := slices.IndexFunc(all, func(lb emulator.LoadBalancerState) bool {
		return slices.Contains(lb.Addresses, address)
	})
	if i < 0 {
		return emulator.LoadBalancerState{}, fmt.Errorf("the cloud has no load balancer with the address %s", address)
	}
	return all[i], nil
}

// remaining names the load balancers and target groups in the cloud; empty if there are none.
func (c *cloud) remaining(ctx context.Context) (string, error) {
	balancers, err := c.api.ListLoadbalancers(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("listing the cloud's load balancers: %w", err)
	}
	groups, err := c.api.ListTargetGroups(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("listing the cloud's target groups: %w", err)
	}
	var names []string
	for _, balancer := range balancers {
		names = append(names, "load balancer "+balancer.Name)
	}
	for _, group := range groups {
		names = append(names, "target group "+group.Name)
	}
	return strings.Join(names, ", "), nil
}
