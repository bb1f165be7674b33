package charttest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// required returns the paths of the values without a default.
func required() []string {
	return []string{"cloudConfig.organisation", "cloudConfig.vpcIdentity", "cloudConfig.cluster",
		"credentials.existingSecret"}
}

// sentences returns what the chart itself says in an error of Helm.
func sentences(t *testing.T, message string) []string {
	t.Helper()
	_, said, found := strings.Cut(message, "/templates/validate.yaml:1:4): ")
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

func TestMissingValuesAreReportedTogether(t *testing.T) {
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

// mayBeOverridden are the flags that the chart sets and that anybody may set otherwise.
func mayBeOverridden() []string {
	return []string{"authentication-skip-lookup", "authorization-always-allow-paths", "concurrent-service-syncs"}
}

// TestFlagsOfTheChartAreRefused: what the chart sets under any of the values files, users cannot set besides.
func TestFlagsOfTheChartAreRefused(t *testing.T) {
	flags := map[string]bool{"leader-elect-resource-name": true, "leader-elect-resource-namespace": true}
	for _, path := range valuesFiles(t) {
		for _, flag := range regexp.MustCompile(`(?m)^ +- "--([a-z-]+)=`).FindAllStringSubmatch(
			manifest(t, release(readValues(t, path))), -1) {
			flags[flag[1]] = true
		}
	}
	full := readValues(t, valuesFiles(t)["full"])
	for flag := range full["extraArgs"].(map[string]any) { // which it does not set itself
		delete(flags, flag)
	}
	if len(flags) < 18 {
		t.Fatalf("only %d flags: %v", len(flags), flags)
	}
	for flag := range flags {
		t.Run(flag, func(t *testing.T) {
			_, _, err := render(t, chartDir(t), release(minimal(t, "extraArgs."+flag+"=x")))
			if slices.Contains(mayBeOverridden(), flag) {
				if err != nil {
					t.Errorf("it may not be overridden: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("it may be overridden")
			}
			got := sentences(t, err.Error())
			if len(got) != 1 ||
				!regexp.MustCompile("^extraArgs."+flag+" is a flag that the chart sets itself: (set|leave) .").
					MatchString(got[0]) {
				t.Errorf("the chart says %q", got)
			}
		})
	}
	got := sentences(t, refusal(t, minimal(t, hosting("extraArgs.authentication-skip-lookup=false")...)))
	if len(got) != 1 || !strings.Contains(got[0], "must not trust clients of the served cluster") {
		t.Errorf("with profile managed: %q", got)
	}
}
