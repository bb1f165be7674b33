package cloudconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/configfile"
)

// required is the shortest valid file.
const required = "networkName: net-1\nclusterName: blue\n"

// fileWith writes a cloud-config and returns its path.
func fileWith(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud-config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// problemsOf returns the mistakes in a file, one line each.
func problemsOf(t *testing.T, text string) []string {
	t.Helper()
	_, problems := Validate(fileWith(t, text), cloud.Environment{}, true)
	return problems
}

// TestFileOfTheExistingCCM reads the complete file of the CCM that this program replaces, as YAML and as JSON.
func TestFileOfTheExistingCCM(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": "networkName: net-1\nprefixName: prefix.example\nprefixNameIPv6: six\n" +
			"clusterName: shoot--Garden--blue_1",
		"JSON": `{"networkName": "net-1", "prefixName": "prefix.example", "prefixNameIPv6": "six",
"clusterName": "shoot--Garden--blue_1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(fileWith(t, text), cloud.Environment{}, "shoot--Garden--blue_1")
			want := Default()
			want.NetworkName, want.PrefixName, want.PrefixNameIPv6 = "net-1", "prefix.example", "six"
			want.ClusterName = "shoot--Garden--blue_1"
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("configuration (-want +got), error %v:\n%s", err, diff)
			}
		})
	}
}

func TestFileOfThisCCM(t *testing.T) {
	got, err := Read(fileWith(t, required+`
namespace: tenant-1
loadBalancer: {creationPollTimeout: 60, drift: report, removeOrphans: true}
instancesV2: {removalGracePeriod: 5, maxRemovals: 50, removalWindow: 3600, dryRun: true}
api: {callTimeout: 7, requestsPerSecond: 10, burst: 1}
`), cloud.Environment{}, "")
	if err != nil || got.Namespace != "tenant-1" || got.API.Timeout() != 7*time.Second ||
		got.API.RequestsPerSecond != 10 || got.API.Burst != 1 {
		t.Errorf("configuration %+v, error %v", got, err)
	}
	balancers := cloud.LoadBalancerBehaviour{PollInterval: 61 * time.Second, SlowAfter: time.Minute,
		Drift: cloud.Report, RemoveOrphans: true}
	if diff := cmp.Diff(balancers, got.LoadBalancer.Behaviour()); diff != "" {
		t.Errorf("load balancers (-want +got):\n%s", diff)
	}
	machines := cloud.MachineBehaviour{Lists: true, GracePeriod: 5 * time.Second, MaxRemovals: 50,
		RemovalWindow: time.Hour, DryRun: true}
	if diff := cmp.Diff(machines, got.InstancesV2.Behaviour()); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	const object = "want the name of an object: at most 253 lower-case letters, digits and - ."
	const label = "want the value of a label: at most 63 letters, digits and - _ ., with a letter or a digit at both " +
		"ends"
	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"nothing": {"{}", []string{"networkName: missing: " + object, "clusterName: missing: " + label}},
		"empty values": {"networkName: ''\nclusterName:",
			[]string{"networkName: missing: " + object, "clusterName: missing: " + label}},
		"misspelt": {required + "prefixNmae: x",
			[]string{`prefixNmae: unknown key in line 3; did you mean "prefixName"?`}},
		"key of the other cloud": {required + "vpcIdentity: x", []string{"vpcIdentity: unknown key in line 3; " +
			"known here are api, clusterName, formerClusterUIDs, instancesV2, loadBalancer, namespace, networkName, " +
			"prefixName, prefixNameIPv6"}},
		"limit of the other cloud": {required + "loadBalancer: {maxTargets: 5}", []string{
			"loadBalancer.maxTargets: unknown key in line 3; known here are creationPollTimeout, drift, " +
				"removeOrphans"}},
		"all at once": {"networkName: Net\nprefixName: -a\nprefixNameIPv6: b-\nclusterName: a/b\nnamespace: a.b\n" +
			"loadBalancer: {drift: no, removeOrphans: 5}\n" +
			"instancesV2: {maxRemovals: 101, removalWindow: 1m}\napi: {callTimeout: 0}",
			[]string{
				"networkName: found text, " + object,
				"prefixName: found text, " + object,
				"prefixNameIPv6: found text, " + object,
				"clusterName: found text, " + label,
				"namespace: found text, want the name of a namespace: at most 63 lower-case letters, digits and -",
				"loadBalancer.drift: found text, want one of repair, report, off",
				"loadBalancer.removeOrphans: found 5, want true or false",
				"instancesV2.maxRemovals: found 101, want a whole number of percent from 0 to 100",
				"instancesV2.removalWindow: found text, want a whole number of seconds from 60 to 86400",
				"api.callTimeout: found 0, want a whole number of seconds from 1 to 600",
			}},
		"too long": {"networkName: " + strings.Repeat("n", 254) + "\nclusterName: " + strings.Repeat("c", 64) +
			"\nprefixName: " + strings.Repeat("p", 300), []string{
			"networkName: found text of 254 characters, " + object, "clusterName: found text, " + label,
			"prefixName: found text of 300 characters, " + object,
		}},
		"number": {"networkName: 5\nclusterName: blue",
			[]string{"networkName: found a number, want text (put it in quotes)"}},
		"no YAML": {"a: [", []string{"reading the cloud-config: parsing YAML: yaml: line 1: did not find expected " +
			"node content"}},
		"no content": {"", []string{"reading the cloud-config: the file is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problemsOf(t, tt.yaml)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefect13_TwoClusterNames(t *testing.T) {
	for name, tt := range map[string]struct {
		flag, yaml string
		want       []string
	}{
		"same":                 {"blue", required, nil},
		"flag not set":         {"", required, nil},
		"flag not set, filled": {"kubernetes", required, nil},
		"different": {"green", required, []string{`clusterName: found "blue", and "green" in the flag ` +
			"--cluster-name, want the same name in both: set both to the value of the label kubernetes.io/cluster " +
			"on the Machines of this cluster, or remove the flag"}},
		"missing in the file": {"green", "networkName: net-1", []string{"clusterName: missing: want the value of a " +
			"label: at most 63 letters, digits and - _ ., with a letter or a digit at both ends"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(fileWith(t, tt.yaml), cloud.Environment{}, tt.flag)
			if err == nil && tt.want == nil {
				return
			}
			problems, ok := errors.AsType[configfile.Problems](err)
			if diff := cmp.Diff(tt.want, problems.Lines()); diff != "" || !ok {
				t.Errorf("error %v, problems (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDefect22_NoCloudConfig(t *testing.T) {
	_, err := Read("", cloud.Environment{}, "")
	if err == nil || !strings.Contains(err.Error(), "missing --cloud-config: pass the path of a file") {
		t.Errorf("error = %v", err)
	}
	_, err = Read("/does/not/exist.yaml", cloud.Environment{}, "")
	if err == nil || err.Error() != "opening the cloud-config: open /does/not/exist.yaml: no such file or directory" {
		t.Errorf("error = %v, want one that names the file", err)
	}
}

// TestValidateShowsTheEffectiveConfiguration: with the defaults, and in a form that is itself accepted.
func TestValidateShowsTheEffectiveConfiguration(t *testing.T) {
	effective, problems := Validate(fileWith(t, required), cloud.Environment{}, true)
	for _, want := range []string{"networkName: net-1\n", "clusterName: blue\n", "callTimeout: 30\n",
		"drift: repair\n"} {
		if !strings.Contains(string(effective), want) {
			t.Errorf("the effective configuration lacks %q, problems %q:\n%s", want, problems, effective)
		}
	}
	if shown, problems := Validate(fileWith(t, string(effective)), cloud.Environment{}, false); string(shown) !=
		string(effective) {
		t.Errorf("shown again, problems %q:\n%s\nwant:\n%s", problems, shown, effective)
	}
}

func TestWarnings(t *testing.T) {
	c, file, err := parse(strings.NewReader(required + "instancesV2: {dryRun: yes}"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"instancesV2.dryRun: found yes, which is taken as true; write true"}
	if diff := cmp.Diff(want, file.Warnings()); diff != "" || !c.InstancesV2.DryRun {
		t.Errorf("configuration %+v, warnings (-want +got):\n%s", c, diff)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(required)
	f.Add(`{"networkName": "a..b", "clusterName": "-", "namespace": "x.y"}`)
	f.Add("networkName: &a b\nclusterName: *a\napi: {burst: 1e3}")
	f.Fuzz(func(t *testing.T, text string) {
		c, file, err := parse(strings.NewReader(text))
		if err == nil && file.Err() == nil && (c.NetworkName == "" || c.ClusterName == "" || len(c.ClusterName) > 63) {
			t.Errorf("%q is accepted: %+v", text, c)
		}
	})
}
