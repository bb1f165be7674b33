package charttest

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	csivolume "github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/tools/chart"
)

func TestCSIEveryRefusalIsSaid(t *testing.T) {
	wantSaid(t, csiDir(t), CSIRefusals(), func(sets ...string) chart.Release {
		return csiRelease(csiMinimal(t, sets...))
	})
}

// TestCSIRemovedValues: names that people know from other charts are refused with what to set.
func TestCSIRemovedValues(t *testing.T) {
	advice := map[string]string{}
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join(csiDir(t), "removed.yaml"))), &advice); err != nil {
		t.Fatal(err)
	}
	for path, successor := range advice {
		_, _, err := render(t, csiDir(t), csiRelease(csiMinimal(t, path+"=a")))
		if err == nil {
			t.Errorf("%s is accepted", path)
			continue
		}
		want := path + " is not a value of this chart: " + successor
		if got := sentences(t, err.Error()); len(got) != 1 || got[0] != want {
			t.Errorf("%s: the chart says %q, want %q", path, got, want)
		}
	}
}

func TestCSISchemaRefusesTypos(t *testing.T) {
	for _, path := range objectPaths(t, csiDir(t), true) {
		sets := []string{strings.TrimPrefix(path+".tpyo=1", ".")}
		if strings.HasSuffix(path, "[0]") {
			sets = append(sets, path+".name=a")
		}
		_, _, err := render(t, csiDir(t), csiRelease(csiMinimal(t, sets...)))
		if want := "additional properties 'tpyo' not allowed"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("in %q: error %v, want one with %q", path, err, want)
		}
	}
}

func TestCSISchemaRefusesBadValues(t *testing.T) {
	for set, want := range map[string]string{
		"controller.replicas=-1":                       "minimum: got -1, want 0",
		"controller.httpPort=65535":                    "maximum: got 65,535, want 65,530",
		"node.formatNonzeroSeconds=3601":               "maximum: got 3,601, want 3,600",
		"node.volumeLimit=0":                           "minimum: got 0, want 1",
		"node.volumeLimits.pgp-small=many":             "got string, want integer",
		"node.kubeletDirectory=var/lib":                "does not match pattern",
		"sidecars.timeout=1m":                          "got string, want integer",
		"sidecars.provisioner.image.digest=latest":     "does not match pattern",
		"storageClasses[0].volumeType=fast":            "missing property 'name'",
		"storageClasses[0].reclaimPolicy=Recycle":      "value must be one of 'Delete', 'Retain'",
		"storageClasses[0].filesystem=btrfs":           "value must be one of 'ext4', 'ext3', 'xfs'",
		"snapshots.classes[0].deletionPolicy=Keep":     "value must be one of 'Delete', 'Retain'",
		"snapshots.classes[0].parameters.a=b":          "additional properties 'parameters' not allowed",
		"snapshots.enabled=maybe":                      "got string, want",
		"credentials.workloadIdentity.lifetime=59":     "minimum: got 59, want 60",
		"cloudConfig.api.callTimeout=0":                "minimum: got 0, want 1",
		"cloudConfig.additionalLabels.team=7":          "got number, want string",
		"scrape.interval=30":                           "got number, want",
		"cloudConfig.loadBalancer.enabled=true":        "additional properties 'loadBalancer' not allowed",
		"image.pullPolicy=Sometimes":                   "value must be one of",
		"controller.extraArgs.--v=2":                   "additional properties '--v' not allowed",
		"controller.podDisruptionBudget.enabled=maybe": "got string, want",
	} {
		_, _, err := render(t, csiDir(t), csiRelease(csiMinimal(t, set)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", set, err, want)
		}
	}
}

// TestCSIParametersOfClasses: the chart takes each parameter of a StorageClass that the driver has, or says which value
// to set instead. It refuses others, as the driver does.
func TestCSIParametersOfClasses(t *testing.T) {
	render := func(name string) error {
		_, _, err := render(t, csiDir(t), csiRelease(csiMinimal(t, "storageClasses[0].name=a",
			"storageClasses[0].parameters."+strings.ReplaceAll(name, ".", `\.`)+"=a")))
		return err
	}
	for _, name := range append(csivolume.ParameterNames(), csivolume.ReservedPrefix+"provisioner-secret-name") {
		err := render(name)
		instead := "storageClasses contains a class with parameters." + name + ": set "
		if err != nil && !strings.HasPrefix(strings.Join(sentences(t, err.Error()), "\n"), instead) {
			t.Errorf("parameter %s: %v, want none, or one with %q", name, err, instead)
		}
	}
	for _, name := range []string{"volume_type", "Fstype", "size", "csi.storage.k8s.io", "a.csi.storage.k8s.io/a"} {
		want := "at '/storageClasses/0/parameters': additional properties '" + name + "' not allowed"
		if err := render(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parameter %s: %v, want %q", name, err, want)
		}
		if _, err := csivolume.ParseParameters(map[string]string{name: "a"}); err == nil {
			t.Errorf("the driver has the parameter %s", name)
		}
	}
}

// TestCSIFilesystems: the chart takes each filesystem that the driver has.
func TestCSIFilesystems(t *testing.T) {
	for _, name := range csivolume.Filesystems() {
		_, _, err := render(t, csiDir(t), csiRelease(csiMinimal(t, "storageClasses[0].name=a",
			"storageClasses[0].filesystem="+name)))
		if err != nil {
			t.Errorf("filesystem %s: %v", name, err)
		}
	}
}
