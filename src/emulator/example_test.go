package emulator_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// A cloud with one machine, and a request without any network.
func ExampleEmulator_Transport() {
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = cloud.Close() }()
	if _, err := cloud.AddMachine(emulator.MachineSpec{Identity: "vm-1", Name: "worker-1"}); err != nil {
		fmt.Println(err)
		return
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		"http://any.host/v1/machines/worker-1/stop", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	client := &http.Client{Transport: cloud.Transport()}
	response, err := client.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	for _, write := range cloud.Writes() {
		fmt.Println(write.Operation, write.Identity, write.Status)
	}
	// Output:
	// 204 No Content
	// POST /v1/machines/{id}/stop vm-1 204
}

// A slow cloud that keeps what a PUT leaves out, with a seed of its own.
func ExampleNew() {
	seed, err := emulator.ReadSeed(strings.NewReader(`
regions:
- {name: nl-01, zones: [nl-01a], publicAddresses: [203.0.113.0/24]}
machineTypes:
- {name: pgp-small, vcpus: 1, ramMb: 4096, diskGb: 20}
organisations:
- name: demo
  personalAccessTokens: [demo-token]
  vpcs:
  - name: demo
    region: nl-01
    cidrs: [10.1.0.0/16]
    subnets: [{name: demo, cidrs: [10.1.0.0/24]}]
  machines: [{name: worker-1}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	cloud, err := emulator.New(emulator.Config{
		Seed:     seed,
		Switches: emulator.Switches{Updates: emulator.Merge},
		Delays:   emulator.Delays{LoadbalancerCreate: 30 * time.Second},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = cloud.Close() }()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		"http://any.host/v1/loadbalancers", strings.NewReader(`{"name": "web", "subnet": "demo"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Authorization", "Token demo-token")
	response, err := cloud.Transport().RoundTrip(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		fmt.Println(err)
	}
	for _, lb := range cloud.State().LoadBalancers {
		fmt.Println(lb.Name, lb.Status, lb.Addresses)
	}
	// Output:
	// web creating []
}
