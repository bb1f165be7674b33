package manager

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	cloudprovider "k8s.io/cloud-provider"
	fakecloud "k8s.io/cloud-provider/fake"

	"github.com/thalassa-cloud/thalassa-ccm/src/adapter"
	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// TestMeasure: what is registered goes again, also when only half of it could be.
func TestMeasure(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for range 2 {
		done, err := register(registry, newTestCloud().Collectors())
		if err != nil {
			t.Fatal(err)
		}
		if families, err := registry.Gather(); err != nil || len(families) != 1 {
			t.Errorf("metrics = %v, %v", families, err)
		}
		done()
	}
	registry.MustRegister(newTestCloud().Collectors()...)
	_, err := register(registry, doubled{newTestCloud()}.Collectors())
	if err == nil || !strings.Contains(err.Error(), "registering metrics") {
		t.Errorf("error = %v", err)
	}
	if families, err := registry.Gather(); err != nil || len(families) != 1 {
		t.Errorf("after a failure: %v, %v", families, err)
	}
}

// TestCollectors: every process says which build it is, whatever cloud it serves.
func TestCollectors(t *testing.T) {
	without := collectors(&cloud.Cloud{}, build.Info{})
	if own, all := len(without), len(collectors(newTestCloud().offer(""), build.Info{})); own != 1 || all != 2 {
		t.Errorf("%d metrics without those of a cloud, %d with them; want 1 and 2", own, all)
	}
	registry := prometheus.NewPedanticRegistry()
	if _, err := register(registry, without); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "cloud_controller_manager_build_info" {
		t.Errorf("metrics %v, error %v", families, err)
	}
}

// TestCollectorsOfControllers: who describes the metrics has those of every controller that the cloud has work for.
// They have valid names and descriptions.
func TestCollectorsOfControllers(t *testing.T) {
	names := func(provided cloudprovider.Interface) map[string]bool {
		found, err := Collectors(adapter.New(provided, ""), build.Info{})
		if err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewPedanticRegistry()
		if _, err := register(registry, found); err != nil {
			t.Error(err)
		}
		problems, err := testutil.GatherAndLint(registry)
		problems = slices.DeleteFunc(problems, func(problem promlint.Problem) bool {
			return strings.Contains(problem.Text, "camelCase") // as in kube-controller-manager
		})
		if err != nil || len(problems) > 0 {
			t.Errorf("problems %v, error %v", problems, err)
		}
		descriptions := make(chan *prometheus.Desc, 100)
		for _, collector := range found {
			collector.Describe(descriptions)
		}
		close(descriptions)
		names := map[string]bool{}
		for description := range descriptions {
			names[strings.Split(description.String(), `"`)[1]] = true
		}
		return names
	}
	const ofServices, ofBuild = "service_lb_writes_total", "cloud_controller_manager_build_info"
	if all := names(&fakecloud.Cloud{EnableInstancesV2: true}); !all[ofServices] || !all[ofBuild] {
		t.Errorf("some are missing: %v", all)
	}
	if all := names(&fakecloud.Cloud{DisableInstances: true, DisableLoadBalancers: true,
		DisableRoutes: true}); all[ofServices] || !all[ofBuild] {
		t.Errorf("a cloud without load balancers has %v", all)
	}
}

// doubled has one metric that is new and one that is not.
type doubled struct{ *testCloud }

func (d doubled) Collectors() []prometheus.Collector {
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: "other", Help: "Another one."})
	return append([]prometheus.Collector{other}, d.testCloud.Collectors()...)
}
