package emulator_test

import (
	"testing"

	"github.com/thalassa-cloud/client-go/iaas"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

func TestCloudInitTemplates(t *testing.T) {
	c := newCloud(t)
	made, err := c.api.CreateCloudInitTemplate(t.Context(), iaas.CreateCloudInitTemplateRequest{Name: "Web",
		Content: "#cloud-config", Labels: iaas.Labels{"a": "b"}})
	if err != nil || made.Slug != "web" || made.CreatedAt.IsZero() {
		t.Fatalf("%+v, %v", made, err)
	}
	all, err := c.api.ListCloudInitTemplates(t.Context())
	if err != nil || len(all) != 1 || all[0].Content != "#cloud-config" || all[0].Labels["a"] != "b" {
		t.Errorf("list %+v, %v", all, err)
	}
	if _, err := c.api.UpdateCloudInitTemplate(t.Context(), "web", iaas.UpdateCloudInitTemplateRequest{Name: "Web",
		Content: "two"}); err != nil {
		t.Error(err)
	}
	if got, err := c.api.GetCloudInitTemplate(t.Context(), made.Identity); err != nil || got.Content != "two" ||
		len(got.Labels) != 0 {
		t.Errorf("%+v, %v, want the new content without labels", got, err)
	}
	for name, err := range map[string]error{
		"no content": second(c.api.CreateCloudInitTemplate(t.Context(),
			iaas.CreateCloudInitTemplateRequest{Name: "x"})),
		"no name": second(c.api.CreateCloudInitTemplate(t.Context(),
			iaas.CreateCloudInitTemplateRequest{Content: "x"})),
		"emptied": second(c.api.UpdateCloudInitTemplate(t.Context(), "web",
			iaas.UpdateCloudInitTemplateRequest{Name: "x"})),
		"nameless": second(c.api.UpdateCloudInitTemplate(t.Context(), "web",
			iaas.UpdateCloudInitTemplateRequest{Content: "x"})),
	} {
		if !vendor.IsBadRequest(err) {
			t.Errorf("%s: %v, want bad request", name, err)
		}
	}
	if err := c.api.DeleteCloudInitTemplate(t.Context(), made.Identity); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"get": second(c.api.GetCloudInitTemplate(t.Context(), made.Identity)),
		"update": second(c.api.UpdateCloudInitTemplate(t.Context(), "web",
			iaas.UpdateCloudInitTemplateRequest{Name: "x", Content: "x"})),
		"delete": c.api.DeleteCloudInitTemplate(t.Context(), made.Identity),
	} {
		if !vendor.IsNotFound(err) {
			t.Errorf("%s a deleted one: %v, want not found", name, err)
		}
	}
}

// second is the error of a call whose result does not matter.
func second[T any](_ T, err error) error { return err }

func TestMachineInstallation(t *testing.T) {
	c := newCloud(t)
	if _, err := c.api.CreateCloudInitTemplate(t.Context(), iaas.CreateCloudInitTemplateRequest{Name: "Web",
		Content: "from the template"}); err != nil {
		t.Fatal(err)
	}
	base := iaas.CreateMachine{Name: "m", Subnet: "emulator", MachineType: "pgp-small"}
	for name, test := range map[string]struct {
		change func(*iaas.CreateMachine)
		check  func(*iaas.Machine) bool
	}{
		"template": {func(m *iaas.CreateMachine) {
			m.CloudInitRef = "web"
		}, func(m *iaas.Machine) bool { return *m.CloudInit == "from the template" }},
		"text": {func(m *iaas.CreateMachine) {
			m.CloudInit = "own"
		}, func(m *iaas.Machine) bool { return *m.CloudInit == "own" }},
		"neither": {func(*iaas.CreateMachine) {}, func(m *iaas.Machine) bool {
			return m.CloudInit == nil && m.MachineImage == nil && m.PersistentVolume == nil
		}},
		"image by name": {func(m *iaas.CreateMachine) {
			m.MachineImage = "ubuntu-22.04"
		}, func(m *iaas.Machine) bool { return m.MachineImage.Slug == "ubuntu-22-04" }},
		"image by slug": {func(m *iaas.CreateMachine) {
			m.MachineImage = "debian-12"
		}, func(m *iaas.Machine) bool { return m.MachineImage.Architecture == "amd64" }},
		"root volume": {func(m *iaas.CreateMachine) {
			m.RootVolume.Size, m.RootVolume.VolumeTypeIdentity = 20, "premium-block"
		}, func(m *iaas.Machine) bool {
			return m.PersistentVolume.Size == 20 && m.PersistentVolume.Status == "Attached" &&
				m.PersistentVolume.VolumeType.Name == "Premium Block"
		}},
		"zone": {func(m *iaas.CreateMachine) {
			m.AvailabilityZone = new("nl-01c")
		}, func(m *iaas.Machine) bool { return *m.AvailabilityZone == "nl-01c" }},
		"both texts":     {func(m *iaas.CreateMachine) { m.CloudInit, m.CloudInitRef = "own", "web" }, nil},
		"no template":    {func(m *iaas.CreateMachine) { m.CloudInitRef = "x" }, nil},
		"no image":       {func(m *iaas.CreateMachine) { m.MachineImage = "windows-95" }, nil},
		"no volume":      {func(m *iaas.CreateMachine) { m.RootVolume.ExistingVolumeRef = new("v-1") }, nil},
		"no volume type": {func(m *iaas.CreateMachine) { m.RootVolume.VolumeTypeIdentity = "vt-1" }, nil},
		"volume size":    {func(m *iaas.CreateMachine) { m.RootVolume.Size = -1 }, nil},
		"zone elsewhere": {func(m *iaas.CreateMachine) { m.AvailabilityZone = new("de-01a") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := base
			test.change(&in)
			m, err := c.api.CreateMachine(t.Context(), in)
			switch {
			case test.check == nil && !vendor.IsBadRequest(err):
				t.Errorf("%v, want bad request", err)
			case test.check != nil && (err != nil || !test.check(m)):
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

func TestImages(t *testing.T) {
	c := newCloud(t)
	all, err := c.api.ListMachineImages(t.Context(), nil)
	if err != nil || len(all) < 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, ref := range []string{all[0].Identity, all[0].Slug} {
		if got, err := c.api.GetMachineImage(t.Context(), ref); err != nil || got.Name != all[0].Name {
			t.Errorf("image %s: %+v, %v", ref, got, err)
		}
	}
	if _, err := c.api.GetMachineImage(t.Context(), "x"); !vendor.IsNotFound(err) {
		t.Errorf("unknown image: %v", err)
	}
	own := newCloud(t, func(cfg *emulator.Config) {
		cfg.Seed.MachineImages = []emulator.MachineImageSeed{{Name: "Mine", Architecture: "arm64",
			Labels: map[string]string{"a": "b"}}}
	})
	if status, _, body := own.call(t, "GET", "/v1/images?matchLabels%5Ba%5D=b&name=Mine", ""); status != 200 ||
		len(body) < 10 {
		t.Errorf("%d %s", status, body)
	}
	if all, err := own.api.ListMachineImages(t.Context(), nil); err != nil || len(all) != 1 ||
		all[0].Architecture != "arm64" {
		t.Errorf("%+v, %v, want the seed's image only", all, err)
	}
	seed := emulator.DefaultSeed()
	seed.MachineImages = []emulator.MachineImageSeed{{}}
	if _, err := emulator.NewDescribed(t, emulator.Config{Seed: seed}); err == nil {
		t.Error("an image without a name was accepted")
	}
}
