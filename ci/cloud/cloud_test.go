package cloud_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/ci/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
)

// status asks the cloud for its machines.
func status(t *testing.T, url string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/machines", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	request.Header.Set("X-Organisation-Identity", emulator.DefaultOrganisation)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestStart(t *testing.T) {
	var url string
	t.Run("while the test runs", func(t *testing.T) {
		c := cloud.Start(t, emulator.DefaultSeed())
		url = c.URL
		if got, err := status(t, url); err != nil || got != http.StatusOK {
			t.Errorf("status %d and %v, want that it answers", got, err)
		}
		want := map[string]any{
			"organisation": emulator.DefaultOrganisation, "vpcIdentity": emulator.DefaultVPC, "cluster": "k8s-test",
			"endpoint": url,
		}
		if diff := cmp.Diff(want, c.Config("k8s-test")); diff != "" {
			t.Errorf("configuration (-want +got):\n%s", diff)
		}
	})
	if got, err := status(t, url); err == nil {
		t.Errorf("after the test it answers with %d", got)
	}
}

func TestLoopback(t *testing.T) {
	c := cloud.Start(t, cloud.Loopback(t, "127.84.0.0/16"))
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "a",
		Addresses: []netip.Addr{netip.MustParseAddr("127.84.0.9")}}); err != nil {
		t.Errorf("a machine with an address of the network: %v", err)
	}
	if _, err := c.AddMachine(emulator.MachineSpec{Name: "b",
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.9")}}); err == nil {
		t.Error("a machine with an address of another network is made")
	}
}

func TestRun(t *testing.T) {
	c := cloud.Run(t, emulator.Config{Seed: emulator.DefaultSeed(),
		Faults: []fault.Rule{{Effect: fault.Effect{Kind: fault.Refuse, Status: http.StatusTeapot}}}})
	if got, err := status(t, c.URL); err != nil || got != http.StatusTeapot {
		t.Errorf("status %d and %v, want that of the fault, %d", got, err, http.StatusTeapot)
	}
}
