package emulator_test

import (
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// httpRule lets HTTP in.
func httpRule() iaas.CreateVpcFirewallRuleRequest {
	return iaas.CreateVpcFirewallRuleRequest{
		Name: "http", Protocols: iaas.VpcFirewallRuleProtocols{TCP: true}, Source: new("0.0.0.0/0"),
		DestinationPorts: []int32{80},
		Action:           iaas.FirewallRuleActionAllow, Priority: new(int32(10)),
		Direction:                 iaas.VpcFirewallRuleDirectionInbound,
		DestinationSubnetIdentity: new(emulator.DefaultSubnet),
	}
}

func TestFirewallRules(t *testing.T) {
	c := newCloud(t, withProject)
	made, err := c.api.CreateVpcFirewallRule(t.Context(), "emulator", httpRule())
	if err != nil || made.State != iaas.FirewallRuleStateActive || made.Vpc.Identity != emulator.DefaultVPC ||
		made.DestinationSubnet.Identity != emulator.DefaultSubnet || made.SourceSubnet != nil {
		t.Fatalf("%+v, %v", made, err)
	}
	all, err := c.api.ListVpcFirewallRule(t.Context(), emulator.DefaultVPC, nil)
	if err != nil || len(all) != 1 || all[0].Identity != made.Identity || all[0].DestinationPorts[0] != 80 {
		t.Errorf("list %+v, %v", all, err)
	}
	v, err := c.api.GetVpc(t.Context(), emulator.DefaultVPC)
	if err != nil || len(v.FirewallRules) != 1 {
		t.Errorf("the VPC has rules %+v, %v, want one", v.FirewallRules, err)
	}
	update := iaas.UpdateVpcFirewallRuleRequest{
		Identity: made.Identity, Name: "renamed", Protocols: iaas.VpcFirewallRuleProtocols{Any: true},
		Action:   iaas.FirewallRuleActionDrop,
		Priority: 20, Direction: iaas.VpcFirewallRuleDirectionOutbound, State: iaas.FirewallRuleStateInactive,
	}
	if _, err := c.api.UpdateVpcFirewallRule(t.Context(), "emulator", made.Identity, update); err != nil {
		t.Error(err)
	}
	got, err := c.api.GetVpcFirewallRule(t.Context(), "emulator", made.Identity)
	if err != nil || got.Name != "renamed" || got.Priority != 20 || got.State != iaas.FirewallRuleStateInactive ||
		got.Source != nil || got.DestinationSubnet != nil {
		t.Errorf("%+v, %v", got, err)
	}
	update.Priority = 30
	batch, err := c.api.BulkUpdateVpcFirewallRule(t.Context(), "emulator",
		iaas.BulkUpdateVpcFirewallRuleRequest{FirewallRules: []iaas.UpdateVpcFirewallRuleRequest{update}})
	if err != nil || len(batch) != 1 || batch[0].Priority != 30 {
		t.Errorf("batch %+v, %v", batch, err)
	}
	// All or none.
	bad := update
	bad.Priority, update.Priority = 0, 40
	if _, err := c.api.BulkUpdateVpcFirewallRule(t.Context(), "emulator",
		iaas.BulkUpdateVpcFirewallRuleRequest{FirewallRules: []iaas.UpdateVpcFirewallRuleRequest{update,
			bad}}); !vendor.IsBadRequest(err) {
		t.Errorf("half a batch: %v, want bad request", err)
	}
	if got, err := c.api.GetVpcFirewallRule(t.Context(), "emulator", made.Identity); err != nil || got.Priority != 30 {
		t.Errorf("after half a batch: %+v, %v, want priority 30", got, err)
	}
	if err := c.api.DeleteVpcFirewallRule(t.Context(), "emulator", made.Identity); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"deleted":     second(c.api.GetVpcFirewallRule(t.Context(), "emulator", made.Identity)),
		"delete":      c.api.DeleteVpcFirewallRule(t.Context(), "emulator", made.Identity),
		"update":      second(c.api.UpdateVpcFirewallRule(t.Context(), "emulator", made.Identity, update)),
		"other's VPC": second(c.api.ListVpcFirewallRule(t.Context(), "vpc-shop", nil)),
		"create in":   second(c.api.CreateVpcFirewallRule(t.Context(), "vpc-shop", httpRule())),
	} {
		if !vendor.IsNotFound(err) {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
}

func TestBadFirewallRules(t *testing.T) {
	c := newCloud(t)
	for name, change := range map[string]func(*iaas.CreateVpcFirewallRuleRequest){
		"name":      func(r *iaas.CreateVpcFirewallRuleRequest) { r.Name = "" },
		"protocols": func(r *iaas.CreateVpcFirewallRuleRequest) { r.Protocols = iaas.VpcFirewallRuleProtocols{} },
		"source":    func(r *iaas.CreateVpcFirewallRuleRequest) { r.Source = new("10.0.0.1") },
		"port":      func(r *iaas.CreateVpcFirewallRuleRequest) { r.DestinationPorts = []int32{65536} },
		"action":    func(r *iaas.CreateVpcFirewallRuleRequest) { r.Action = "pass" },
		"priority":  func(r *iaas.CreateVpcFirewallRuleRequest) { r.Priority = new(int32(1001)) },
		"direction": func(r *iaas.CreateVpcFirewallRuleRequest) { r.Direction = "up" },
		"state":     func(r *iaas.CreateVpcFirewallRuleRequest) { r.State = "odd" },
		"subnet":    func(r *iaas.CreateVpcFirewallRuleRequest) { r.SourceSubnetIdentity = new("subnet-x") },
	} {
		rule := httpRule()
		change(&rule)
		if _, err := c.api.CreateVpcFirewallRule(t.Context(), "emulator", rule); !vendor.IsBadRequest(err) {
			t.Errorf("%s: %v, want bad request", name, err)
		}
	}
}
