package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/quotas"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func (c *cloud) quotas(t *testing.T) *quotas.Client {
	t.Helper()
	client, err := thalassa.NewClient(vendor.WithBaseURL(c.url), vendor.WithAuthPersonalToken(emulator.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	return client.Quotas()
}

func TestQuotasAreListed(t *testing.T) {
	c := newCloud(t, withProject)
	c.loadbalancer(t, "a")
	all, err := c.quotas(t).ListOrganisationQuotas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Those of projects count.
	want := map[string]int64{"loadbalancers": 1, "vpcs": 2, "subnets": 2, "machines": 1, "projects": 1,
		"loadbalancer-target-groups": 0, "loadbalancer-listeners": 0}
	for _, q := range all {
		if used, found := want[q.Name]; found && q.CurrentUsage != used {
			t.Errorf("quota %s: usage %d, want %d", q.Name, q.CurrentUsage, used)
		}
		delete(want, q.Name)
		if q.MaxUsage < 100 || q.Description == "" || q.QuotaType == "" || q.CreatedAt.IsZero() ||
			q.Organisation == nil {
			t.Errorf("quota %+v is incomplete", q)
		}
	}
	if len(want) > 0 {
		t.Errorf("quotas %v are not listed", want)
	}
	if _, err := c.quotas(t).GetOrganisationQuota(t.Context(), "nonsense"); !vendor.IsNotFound(err) {
		t.Errorf("unknown quota: %v, want not found", err)
	}
}

func TestCreationsBeyondAQuotaAreRefused(t *testing.T) {
	c := newCloud(t)
	machine, group, lb := c.machine(t, "m"), c.group(t, "g", 80), c.loadbalancer(t, "lb")
	c.listener(t, lb.Identity, group.Identity, 80)
	for quota, create := range map[string]func() error{
		"loadbalancers": func() error {
			_, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "x", Subnet: "emulator"})
			return err
		},
		"loadbalancer-listeners": func() error {
			_, err := c.api.CreateListener(t.Context(), lb.Identity, listenerOn(81, group.Identity))
			return err
		},
		"loadbalancer-target-groups": func() error {
			_, err := c.api.CreateTargetGroup(t.Context(), iaas.CreateTargetGroup{Name: "x", Vpc: "emulator",
				TargetPort: 80, Protocol: "tcp"})
			return err
		},
		"machines": func() error {
			_, err := c.api.CreateMachine(t.Context(), iaas.CreateMachine{Name: "x", Subnet: "emulator",
				MachineType: "pgp-small"})
			return err
		},
		"cloud-init-templates": func() error {
			_, err := c.api.CreateCloudInitTemplate(t.Context(), iaas.CreateCloudInitTemplateRequest{Name: "x",
				Content: "x"})
			return err
		},
	} {
		t.Run(quota, func(t *testing.T) {
			q, err := c.quotas(t).GetOrganisationQuota(t.Context(), quota)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.SetQuota("emulator", quota, int(q.CurrentUsage)); err != nil {
				t.Fatal(err)
			}
			number := fmt.Sprintf("%d of %d", q.CurrentUsage, q.CurrentUsage)
			if err := create(); !refused(err, "403") || !refused(err, number) || !refused(err, quota) {
				t.Errorf("at the limit: %v, want 403 with %q", err, number)
			}
			if err := c.SetQuota("", quota, int(q.CurrentUsage)+1); err != nil {
				t.Fatal(err)
			}
			if err := create(); err != nil {
				t.Errorf("below the limit: %v", err)
			}
		})
	}
	// What is deleted makes room.
	if err := c.DeleteMachine(machine); err != nil {
		t.Fatal(err)
	}
	c.machine(t, "again")
	if c.SetQuota("o-x", "machines", 1) == nil || c.SetQuota("", "x", 1) == nil ||
		c.SetQuota("", "machines", -1) == nil {
		t.Error("an impossible quota was accepted")
	}
}

func TestQuotasOfSeeds(t *testing.T) {
	c := newCloud(t, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].Quotas = map[string]int{"loadbalancers": 0, "loadbalancer-listeners": 1}
	})
	if status, _, body := c.call(t, "POST", "/v1/loadbalancers", `{"name":"x","subnet":"emulator"}`); status != 403 ||
		!strings.Contains(body, "0 of 0") {
		t.Errorf("%d %s, want 403", status, body)
	}
	// Listeners in the body that creates a load balancer count too.
	if err := c.SetQuota("", "loadbalancers", 5); err != nil {
		t.Fatal(err)
	}
	g := c.group(t, "g", 80).Identity
	_, err := c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{
		Name: "x", Subnet: "emulator", Listeners: []iaas.CreateListener{listenerOn(80, g), listenerOn(81, g)},
	})
	if !refused(err, "403") || !refused(err, "1 of 1") {
		t.Errorf("two listeners at once: %v, want 403", err)
	}
	seed := emulator.DefaultSeed()
	seed.Organisations[0].Quotas = map[string]int{"nonsense": 1}
	if _, err := emulator.NewDescribed(t, emulator.Config{Seed: seed}); err == nil ||
		!strings.Contains(err.Error(), "nonsense") {
		t.Errorf("unknown quota: %v, want an error that names it", err)
	}
}

func TestQuotaStatus(t *testing.T) {
	for _, status := range []int{0, 403, 409, 422, 429} {
		c := newCloud(t, func(cfg *emulator.Config) {
			cfg.Switches.QuotaStatus, cfg.Switches.ConflictStatus = status, 422
			cfg.Seed.Organisations[0].Quotas = map[string]int{"machines": 0}
		})
		want := status
		if want == 0 {
			want = 403
		}
		if got, _, _ := c.call(t, "POST", "/v1/machines",
			`{"name":"x","subnet":"emulator","machineType":"pgp-small"}`); got != want {
			t.Errorf("switch %d: status %d, want %d", status, got, want)
		}
	}
}

func TestQuotaIncreaseRequests(t *testing.T) {
	c := newCloud(t)
	client := c.quotas(t)
	for _, request := range []quotas.RequestQuotaIncreaseRequest{{Name: "x", NewMaxUsage: 1},
		{Name: "machines", NewMaxUsage: 100_000}} {
		if err := client.RequestQuotaIncrease(t.Context(), request); !vendor.IsBadRequest(err) {
			t.Errorf("%+v: %v, want bad request", request, err)
		}
	}
	if err := client.RequestQuotaIncrease(t.Context(), quotas.RequestQuotaIncreaseRequest{Name: "machines",
		NewMaxUsage: 200_000, Reason: "growth"}); err != nil {
		t.Fatal(err)
	}
	decision := func() (string, string) {
		q, err := client.GetOrganisationQuota(t.Context(), "machines")
		if err != nil || len(q.IncreaseRequests) != 1 {
			t.Fatalf("%+v, %v, want one request", q, err)
		}
		return q.IncreaseRequests[0].Decision, q.IncreaseRequests[0].RequestedReasonMessage
	}
	if got, reason := decision(); got != "pending" || reason != "growth" {
		t.Errorf("%s for %q, want pending for growth", got, reason)
	}
	if err := c.SetQuota("", "machines", 200_000); err != nil {
		t.Fatal(err)
	}
	if got, _ := decision(); got != "approved" {
		t.Errorf("%s, want approved once the limit is there", got)
	}
}

// The projects of an organisation share its quotas; other organisations do not.
func TestProjectsShareQuotas(t *testing.T) {
	c := newCloud(t, withProject, neighbour, func(cfg *emulator.Config) {
		cfg.Seed.Organisations[0].Quotas = map[string]int{"loadbalancers": 2, "machines": 1}
	})
	shop := c.client(t, vendor.WithProject("shop"))
	c.loadbalancer(t, "ours")
	if _, err := shop.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "theirs",
		Subnet: "shop"}); err != nil {
		t.Error(err)
	}
	for name, create := range map[string]func() error{
		"project": func() error {
			return second(shop.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "x", Subnet: "shop"}))
		},
		"organisation": func() error {
			return second(c.api.CreateLoadbalancer(t.Context(), iaas.CreateLoadbalancer{Name: "x", Subnet: "emulator"}))
		},
	} {
		if err := create(); !refused(err, "2 of 2") {
			t.Errorf("%s: %v, want 2 of 2", name, err)
		}
	}
	request := apiRequest(t, c.url, "GET", "/v1/quotas/loadbalancers", "")
	request.Header.Set("Authorization", "Token next-token")
	if answer := serve(c, request); !strings.Contains(answer.Body.String(), `"maxUsage":100000,"currentUsage":0`) {
		t.Errorf("the neighbour's quota: %s", answer.Body)
	}
}
