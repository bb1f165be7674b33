//go:build e2e

package e2etest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"
	"github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/openapi/openapitest"
)

// visited is an emulator whose page is open in a browser.
type visited struct {
	*browser
	cloud  *emulator.Emulator
	server *httptest.Server
	api    *iaas.Client
}

// visit starts an emulator and opens its page.
func visit(t *testing.T, config emulator.Config) *visited {
	t.Helper()
	config.Middleware = openapitest.Sampled(t)
	cloud, err := emulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	v := &visited{cloud: cloud, server: httptest.NewServer(cloud)}
	t.Cleanup(func() {
		cloud.EndEvents()
		v.server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	customer, err := thalassa.NewClient(client.WithBaseURL(v.server.URL),
		client.WithOrganisation(emulator.DefaultOrganisation), client.WithAuthPersonalToken(emulator.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	v.api = customer.IaaS()
	v.browser = openBrowser(t, v.server.URL+"/_emulator/")
	return v
}

// populate makes objects of every kind that the page shows, and sends requests through a load balancer.
func (v *visited) populate(t *testing.T) {
	t.Helper()
	var machines []*iaas.Machine
	for i, zone := range []string{"nl-01a", "nl-01b", "nl-01c"} {
		identity, err := v.cloud.AddMachine(emulator.MachineSpec{Name: fmt.Sprintf("worker-%d", i+1), Zone: zone})
		wanted(t, err)
		machine, err := v.api.GetMachine(t.Context(), identity)
		wanted(t, err)
		machines = append(machines, machine)
	}
	wanted(t, v.cloud.StopMachine("worker-3"))
	v.addBalancer(t, machines)
	v.addRoute(t, machines[0])
	v.addVolume(t, machines[0])
	_, err := v.api.CreateReservedIP(t.Context(), iaas.CreateReservedIpRequest{Name: "ingress",
		Region: emulator.DefaultRegion})
	wanted(t, err)
	v.send(t, 6)
}

// wanted ends the test if an error happened while it made what it needs.
func wanted(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// addBalancer adds a load balancer in front of machines, and servers on all but the last.
func (v *visited) addBalancer(t *testing.T, machines []*iaas.Machine) {
	t.Helper()
	group, err := v.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{
		Name: "web", Vpc: emulator.DefaultVPC, TargetPort: 8080, Protocol: iaas.ProtocolTCP,
		HealthCheck: &iaas.BackendHealthCheck{Protocol: iaas.ProtocolTCP, Port: 8080, PeriodSeconds: 5,
			TimeoutSeconds: 3, UnhealthyThreshold: 2, HealthyThreshold: 1},
	})
	wanted(t, err)
	for i, machine := range machines {
		if i < len(machines)-1 {
			greet(t, net.JoinHostPort(machine.Interfaces[0].IPAddresses[0], "8080"))
		}
		_, err := v.api.AttachServerToTargetGroup(t.Context(), iaas.AttachTargetGroupRequest{
			TargetGroupID: group.Identity, AttachTarget: iaas.AttachTarget{ServerIdentity: machine.Identity}})
		wanted(t, err)
	}
	v.balance(t, "shop", group.Identity)
}

// balance adds a load balancer with one listener.
func (v *visited) balance(t *testing.T, name, group string) {
	t.Helper()
	balancer, err := v.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: name,
		Subnet: emulator.DefaultSubnet})
	wanted(t, err)
	_, err = v.api.CreateListener(t.Context(), balancer.Identity, iaas.CreateListener{Name: "http", Port: 80,
		Protocol: iaas.ProtocolTCP, TargetGroup: group})
	wanted(t, err)
}

func (v *visited) addRoute(t *testing.T, to *iaas.Machine) {
	t.Helper()
	table, err := v.api.CreateRouteTable(t.Context(), iaas.CreateRouteTable{Name: "pods",
		VpcIdentity: emulator.DefaultVPC})
	wanted(t, err)
	_, err = v.api.CreateRouteTableRoute(t.Context(), table.Identity, iaas.CreateRouteTableRoute{
		DestinationCidrBlock: "10.244.1.0/24", GatewayAddress: to.Interfaces[0].IPAddresses[0]})
	wanted(t, err)
}

func (v *visited) addVolume(t *testing.T, to *iaas.Machine) {
	t.Helper()
	volume, err := v.api.CreateVolume(t.Context(), iaas.CreateVolume{Name: "data", Size: 20,
		CloudRegionIdentity: emulator.DefaultRegion, VolumeTypeIdentity: "block"})
	wanted(t, err)
	_, err = v.api.AttachVolume(t.Context(), volume.Identity, iaas.AttachVolumeRequest{
		ResourceType: "cloud_virtual_machine", ResourceIdentity: to.Identity})
	wanted(t, err)
}

// greet serves HTTP at an address until the test ends.
func greet(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })}}
	server.Start()
	t.Cleanup(server.Close)
}

// send sends requests through the load balancer, after all of its targets are healthy.
func (v *visited) send(t *testing.T, requests int) {
	t.Helper()
	var served string
	eventually(t, "the load balancer has healthy targets", func(context.Context) error {
		listener := v.cloud.State().LoadBalancers[0].Listeners[0]
		for _, target := range listener.Targets {
			if target.Health != "healthy" {
				return fmt.Errorf("the listener is %+v", listener)
			}
		}
		served = listener.Served[0]
		return nil
	})
	visitor := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range requests {
		if got := fetch(t, visitor, "http://"+served+"/"); got != http.StatusOK {
			t.Errorf("through the load balancer, the status is %d", got)
		}
	}
}

// list is the status of a list of the API.
func (v *visited) list(t *testing.T, kind string) int {
	t.Helper()
	return fetch(t, v.server.Client(), v.server.URL+"/v1/"+kind)
}

// fetch reads a page as the customer, and returns its status.
func fetch(t *testing.T, customer *http.Client, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	wanted(t, err)
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	answer, err := customer.Do(request)
	wanted(t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	wanted(t, err)
	return answer.StatusCode
}

// busy uses the API for some seconds, and sets a fault, so that a picture shows something.
func (v *visited) busy(t *testing.T) {
	t.Helper()
	_, err := v.cloud.Inject(fault.Rule{ID: "busy", Operation: "POST /v1/loadbalancers",
		Effect: fault.Effect{Kind: fault.Refuse, Status: http.StatusServiceUnavailable}})
	wanted(t, err)
	every := time.NewTicker(time.Second / 5)
	defer every.Stop()
	for i := range 80 {
		<-every.C
		for _, kind := range []string{"machines", "loadbalancers", "volumes", "route-tables"}[:1+i%4] {
			v.list(t, kind)
		}
		if i%4 == 2 {
			_, err := v.api.UpdateVolume(t.Context(), "data", iaas.UpdateVolume{Name: "data", Size: 20})
			wanted(t, err)
		}
		if i%12 == 6 {
			_, err := v.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "second",
				Subnet: emulator.DefaultSubnet})
			if err == nil {
				t.Error("a load balancer is created despite the fault")
			}
		}
	}
	v.send(t, 20)
	v.shows(t, "#balancers", "26 connections")
}

// populateLarge adds 5,000 machines, which are the targets of 1,000 load balancers.
func (v *visited) populateLarge(t *testing.T) {
	t.Helper()
	machines, err := v.cloud.AddMachines(5000)
	wanted(t, err)
	group, err := v.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{Name: "web", Vpc: emulator.DefaultVPC,
		TargetPort: 80, Protocol: iaas.ProtocolTCP})
	wanted(t, err)
	var targets []iaas.AttachTarget
	for _, identity := range machines {
		targets = append(targets, iaas.AttachTarget{ServerIdentity: identity})
	}
	wanted(t, v.api.SetTargetGroupServerAttachments(t.Context(), iaas.TargetGroupAttachmentsBatch{
		TargetGroupID: group.Identity, Attachments: targets}))
	for i := range 1000 {
		v.balance(t, fmt.Sprintf("balancer-%04d", i), group.Identity)
	}
}
