package charttest

import (
	"strings"
	"testing"
)

// required returns the paths of the values without a default.
func required() []string {
	return []string{"cloudConfig.organisation", "cloudConfig.vpcIdentity", "cloudConfig.cluster", "credentials.existingSecret"}
}

// sentences returns what the chart itself says in an error of Helm.
func sentences(t *testing.T, message string) []string {
	t.Helper()
	const prefix = "execution error at (thalassa-ccm/templates/validate.yaml:1:4): "
	_, said, found := strings.Cut(message, prefix)
	if !found {
		t.Fatalf("the error is not the chart's: %s", message)
	}
	return strings.Split(said, "\n")
}

func TestMissingValue(t *testing.T) {
	for _, path := range required() {
		want := path + " is required: "
		for state, value := range map[string]string{"empty": "", "null": "null"} {
			t.Run(path+" "+state, func(t *testing.T) {
				got := sentences(t, refusal(t, minimal(t, path+"="+value)))
				if len(got) != 1 || !strings.HasPrefix(got[0], want) {
					t.Fatalf("the chart says %q, want one sentence that begins with %q", got, want)
				}
				if example := "for example --set " + path + "="; !strings.Contains(got[0], example) {
					t.Errorf("%q lacks an example with %q", got[0], example)
				}
			})
		}
	}
}

func TestMissingValuesAreToldTogether(t *testing.T) {
	if got := sentences(t, refusal(t, nil)); len(got) != len(required()) {
		t.Errorf("%d sentences for %d missing values: %q", len(got), len(required()), got)
	}
}

// TestExistingServiceAccountNeedsItsName keeps the rights from the account
// "default", which every other pod of the namespace may run as.
func TestExistingServiceAccountNeedsItsName(t *testing.T) {
	for name, sets := range map[string][]string{
		"empty":         {"serviceAccount.create=false"},
		"null":          {"serviceAccount.create=false", "serviceAccount.name=null"},
		"without roles": {"serviceAccount.create=false", "rbac.create=false"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sentences(t, refusal(t, minimal(t, sets...)))
			const want = "serviceAccount.name is required while serviceAccount.create is false: "
			if len(got) != 1 || !strings.HasPrefix(got[0], want) {
				t.Errorf("the chart says %q, want one sentence that begins with %q", got, want)
			}
		})
	}
}

func TestFlagsOfTheChartAreRefused(t *testing.T) {
	for flag, want := range map[string]string{
		"bind-address":                    "set bindAddress instead",
		"cloud-config":                    "set the values under cloudConfig instead",
		"cloud-provider":                  "leave it out",
		"cluster-name":                    "set cloudConfig.cluster instead",
		"leader-elect":                    "leave it out",
		"leader-elect-resource-name":      "leave it out",
		"leader-elect-resource-namespace": "leave it out",
		"secure-port":                     "set securePort instead",
		"v":                               "set logVerbosity instead",
	} {
		t.Run(flag, func(t *testing.T) {
			got := sentences(t, refusal(t, minimal(t, "extraArgs."+flag+"=x")))
			if len(got) != 1 || !strings.HasPrefix(got[0], "extraArgs."+flag+" ") || !strings.Contains(got[0], want) {
				t.Errorf("the chart says %q, want one sentence with %q", got, want)
			}
		})
	}
}
