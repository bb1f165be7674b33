package emulator_test

import (
	"testing"

	vendor "github.com/thalassa-cloud/client-go/pkg/client"
	"github.com/thalassa-cloud/client-go/tfs"
	"github.com/thalassa-cloud/client-go/thalassa"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestFilesystems(t *testing.T) {
	c := newCloud(t)
	client, err := thalassa.NewClient(vendor.WithBaseURL(c.url), vendor.WithAuthPersonalToken(emulator.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	api := client.Tfs()
	request := tfs.CreateTfsInstanceRequest{
		Name: "Shared", SizeGB: 10, CloudRegionIdentity: "nl-01", VpcIdentity: "emulator", SubnetIdentity: "emulator",
		DeleteProtection: true,
	}
	made, err := api.CreateTfsInstance(t.Context(), request)
	if err != nil || made.Slug != "shared" || len(made.Endpoints) != 1 ||
		made.Subnet.Identity != emulator.DefaultSubnet {
		t.Fatalf("%+v, %v", made, err)
	}
	if err := api.WaitUntilTfsInstanceIsAvailable(t.Context(), "shared"); err != nil {
		t.Error(err)
	}
	if all, err := api.ListTfsInstances(t.Context(), nil); err != nil || len(all) != 1 {
		t.Errorf("list %+v, %v", all, err)
	}
	for name, change := range map[string]func(*tfs.CreateTfsInstanceRequest){
		"name": func(r *tfs.CreateTfsInstanceRequest) {
			r.Name = ""
		}, "size": func(r *tfs.CreateTfsInstanceRequest) { r.SizeGB = 0 },
		"region": func(r *tfs.CreateTfsInstanceRequest) {
			r.CloudRegionIdentity = "de"
		}, "VPC": func(r *tfs.CreateTfsInstanceRequest) { r.VpcIdentity = "x" },
		"subnet": func(r *tfs.CreateTfsInstanceRequest) { r.SubnetIdentity = "x" },
	} {
		bad := request
		change(&bad)
		if _, err := api.CreateTfsInstance(t.Context(), bad); !vendor.IsBadRequest(err) {
			t.Errorf("%s: %v, want bad request", name, err)
		}
	}
	if err := api.DeleteTfsInstance(t.Context(), made.Identity); !refused(err, "409") {
		t.Errorf("deleting a protected one: %v, want 409", err)
	}
	if _, err := api.UpdateTfsInstance(t.Context(), "shared", tfs.UpdateTfsInstanceRequest{Name: "Shared",
		SizeGB: 5}); !vendor.IsBadRequest(err) {
		t.Errorf("shrinking: %v, want bad request", err)
	}
	if got, err := api.UpdateTfsInstance(t.Context(), "shared", tfs.UpdateTfsInstanceRequest{Name: "New",
		SizeGB: 20}); err != nil || got.SizeGB != 20 || got.DeleteProtection {
		t.Errorf("%+v, %v, want 20 GB, unprotected", got, err)
	}
	if err := api.DeleteTfsInstance(t.Context(), made.Identity); err != nil {
		t.Error(err)
	}
	if err := api.WaitUntilTfsInstanceIsDeleted(t.Context(), made.Identity); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"update": second(api.UpdateTfsInstance(t.Context(), "shared", tfs.UpdateTfsInstanceRequest{})),
		"delete": api.DeleteTfsInstance(t.Context(), "shared"),
	} {
		if !vendor.IsNotFound(err) {
			t.Errorf("%s: %v, want not found", name, err)
		}
	}
	// Its address is free again.
	if v, err := c.api.GetSubnet(t.Context(), emulator.DefaultSubnet); err != nil || v.V4usingIPs != 0 {
		t.Errorf("%d addresses in use, %v, want none", v.V4usingIPs, err)
	}
}
