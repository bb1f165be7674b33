package flags_test

import (
	"context"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/manager"
)

// TestFlagsOfTheLibrary proves that whoever comes from another cloud controller
// manager keeps every flag with its default.
func TestFlagsOfTheLibrary(t *testing.T) {
	different := map[string]string{
		"concurrent-service-syncs": "10",
		"kube-api-burst":           "100",
		"kube-api-qps":             "50",
		"cloud-provider":           "only",
		// So that a standby takes over sooner.
		"leader-elect-lease-duration": "12s",
		"leader-elect-renew-deadline": "8s",
		"leader-elect-retry-period":   "600ms",
		// As the cloud is configured.
		"route-reconciliation-period": "0s",
	}
	ours := manager.NewCommand(build.Info{}, manager.Provider{Name: "only",
		New: func(context.Context, cloud.Options) (*cloud.Cloud, error) {
			return nil, nil
		}})
	defaults, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	theirs := app.NewCloudControllerManagerCommand(defaults, nil, app.DefaultInitFuncConstructors,
		names.CCMControllerAliases(), cliflag.NamedFlagSets{}, nil)
	theirs.Flags().VisitAll(func(want *pflag.Flag) {
		got := ours.Flags().Lookup(want.Name)
		if got == nil {
			t.Errorf("--%s is missing", want.Name)
			return
		}
		value := want.DefValue
		if changed, ok := different[want.Name]; ok {
			value = changed
		}
		if got.DefValue != value || got.Shorthand != want.Shorthand || got.Deprecated != want.Deprecated {
			t.Errorf("--%s: default %q, shorthand %q, deprecated %q; want %q, %q, %q", want.Name,
				got.DefValue, got.Shorthand, got.Deprecated, value, want.Shorthand, want.Deprecated)
		}
	})
}
