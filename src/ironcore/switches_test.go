package ironcore

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/conformance"
	"github.com/thalassa-cloud/thalassa-ccm/src/ironcore/simulator"
)

// switches are how servers of other versions may behave in place of the default, which is that of IronCore v0.5.0.
func switches() map[string]simulator.Options {
	return map[string]simulator.Options{
		"NoGC":             {NoGC: true},
		"SpecIgnored":      {SpecIgnored: true},
		"Generation":       {Generation: true},
		"NoStrategicMerge": {NoStrategicMerge: true},
		"NoWatchList":      {NoWatchList: true},
		"all": {NoGC: true, SpecIgnored: true, Generation: true, NoStrategicMerge: true,
			NoWatchList: true},
	}
}

// TestConformanceOfServers: all controllers work whichever way the server behaves, one difference at a time and all
// together.
func TestConformanceOfServers(t *testing.T) {
	for name, options := range switches() {
		if name != "all" && !tierSize().eachSwitch {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, func(t *testing.T) conformance.Cloud {
				t.Helper()
				return newUserViewOf(t, name == "all", options).cloud()
			})
		})
	}
}

// TestSwitchesAreComplete: each switch of the simulator is tested alone, and with all others.
func TestSwitchesAreComplete(t *testing.T) {
	all := reflect.ValueOf(switches()["all"])
	var names []string
	for field, value := range all.Fields() {
		if field.Type.Kind() != reflect.Bool {
			continue
		}
		names = append(names, field.Name)
		want(t, field.Name+" of all", value.Bool(), true)
		alone := reflect.ValueOf(switches()[field.Name])
		want(t, field.Name+" alone", alone.IsValid() && alone.FieldByName(field.Name).Bool(), true)
	}
	got := slices.Sorted(maps.Keys(switches()))
	names = append(names, "all")
	slices.Sort(names)
	want(t, "only known switches", slices.Equal(got, names), true)
}
