package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/thalassa-cloud/client-go/iaas"
	"github.com/thalassa-cloud/client-go/pkg/client"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/tools/poll"
	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
)

const (
	// machineType is the size of the demo's servers.
	machineType = "pgp-small"
	// credentialsName is the Secret with the credentials.
	credentialsName = "thalassa-credentials"
)

// thalassa is the emulated Thalassa Cloud, seen from outside: as one of its customers, and through its admin API.
type thalassa struct {
	Endpoint     string `json:"endpoint"`
	Organisation string `json:"organisation"`
	VPC          string `json:"vpc"`
	Subnet       string `json:"subnet"`
	api          *iaas.Client
	http         http.Client
}

const emulatorName = "thalassa-emulator"

func (*thalassa) programs() []string { return []string{emulatorName} }

// start starts the emulator as a process of its own, and waits until it answers.
func (c *thalassa) start(ctx context.Context, s *stage) error {
	ready := s.folder.File("cloud.json")
	p, err := process.Start(context.WithoutCancel(ctx), process.Spec{
		Name: emulatorName, Path: s.programs.path(emulatorName), LogPath: s.folder.File("cloud.log"), Env: []string{},
		Args: []string{
			"--listen=127.0.0.1:0", "--data-plane=loopback", "--loopback-network=auto", "--ready-file=" + ready,
			"--lb-create-delay=" + createDelay.String(), "--lb-delete-delay=" + deleteDelay.String(),
		},
	})
	if err != nil {
		return err
	}
	s.later("the cloud", func(context.Context) error { return p.Stop(cloudTimeout) })
	limits := poll.Limits{Every: pollInterval, For: cloudTimeout, Needs: p}
	err = limits.Until(ctx, "the cloud answers", func(context.Context) error {
		_, err := os.Stat(ready)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.connect(ready); err != nil {
		return err
	}
	s.printer.say("Thalassa Cloud (emulated) answers at %s; its VPC is %s", c.Endpoint, c.VPC)
	return nil
}

func (c *thalassa) connect(readyFile string) error {
	content, err := os.ReadFile(readyFile)
	if err != nil {
		return fmt.Errorf("reading where the cloud is: %w", err)
	}
	c.http.Timeout = cloudTimeout
	if err := json.Unmarshal(content, c); err != nil {
		return fmt.Errorf("reading where the cloud is: %w", err)
	}
	raw, err := client.NewClient(client.WithBaseURL(c.Endpoint), client.WithOrganisation(c.Organisation),
		client.WithAuthPersonalToken(emulator.DefaultToken), client.WithTimeout(cloudTimeout))
	if err != nil {
		return fmt.Errorf("preparing a client of the cloud: %w", err)
	}
	c.api, err = iaas.New(raw)
	return err
}

func (c *thalassa) installation() (installation, error) {
	return installation{
		secret: credentialsName,
		credentials: map[string]string{"clientID": emulator.DefaultClientID,
			"clientSecret": emulator.DefaultClientSecret},
		values: map[string]any{
			"cloudConfig": map[string]any{
				"organisation": c.Organisation, "endpoint": c.Endpoint, "vpcIdentity": c.VPC, "cluster": clusterName,
				"loadBalancer": map[string]any{"creationPollInterval": 1},
			},
			"credentials": map[string]any{"existingSecret": credentialsName},
		},
	}, nil
}

func (c *thalassa) addServer(ctx context.Context, name, zone string) (netip.Addr, error) {
	created, err := c.api.CreateMachine(ctx, iaas.CreateMachine{
		Name: name, Subnet: c.Subnet, MachineType: machineType, AvailabilityZone: &zone,
	})
	if err != nil {
		return netip.Addr{}, fmt.Errorf("creating server %s in the cloud: %w", name, err)
	}
	server, err := c.api.GetMachine(ctx, created.Identity)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("reading server %s: %w", name, err)
	}
	for _, network := range server.Interfaces {
		if len(network.IPAddresses) > 0 {
			return netip.ParseAddr(network.IPAddresses[0])
		}
	}
	return netip.Addr{}, fmt.Errorf("server %s has no address", name)
}

// balancers is what the cloud's load balancers do at the moment.
func (c *thalassa) balancers(ctx context.Context) ([]emulator.LoadBalancerState, error) {
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

func (c *thalassa) balancer(ctx context.Context, service *corev1.Service) (balancer, error) {
	all, err := c.balancers(ctx)
	if err != nil {
		return balancer{}, err
	}
	i := slices.IndexFunc(all, func(lb emulator.LoadBalancerState) bool {
		return lb.Name == cloudprovider.DefaultLoadBalancerName(service)
	})
	if i < 0 {
		return balancer{}, errNoBalancer
	}
	found := balancer{name: all[i].Name, state: all[i].Status}
	if len(all[i].Listeners) == 0 {
		return found, nil
	}
	listener := all[i].Listeners[0]
	found.problem = listener.Problem
	if len(listener.Served) > 0 {
		found.served = listener.Served[0]
	}
	for _, target := range listener.Targets {
		address, err := netip.ParseAddrPort(target.Address)
		if err != nil {
			return balancer{}, fmt.Errorf("reading the targets of load balancer %s: %w", found.name, err)
		}
		found.targets = append(found.targets, address.Addr())
	}
	return found, nil
}

func (*thalassa) kinds() []string { return []string{"load balancer", "target group"} }

func (c *thalassa) access() []string {
	return []string{
		fmt.Sprintf("the cloud, live in a browser:  %s/_emulator/", c.Endpoint),
		fmt.Sprintf("the cloud:  curl -s %s/_emulator/state", c.Endpoint),
		fmt.Sprintf("the cloud's API, as its customer:  curl -s -H 'Authorization: Token "+
			"emulator-personal-access-token' -H 'X-Organisation-Identity: %s' %s/v1/loadbalancers", c.Organisation,
			c.Endpoint),
	}
}

func (c *thalassa) remaining(ctx context.Context) (string, error) {
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
