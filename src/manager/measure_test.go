package manager

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	fakecloud "k8s.io/cloud-provider/fake"
)

// TestMeasure: what is registered goes again, also when only half of it could be.
func TestMeasure(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for range 2 {
		done, err := measure(registry, newTestCloud())
		if err != nil {
			t.Fatal(err)
		}
		if families, err := registry.Gather(); err != nil || len(families) != 1 {
			t.Errorf("metrics = %v, %v", families, err)
		}
		done()
	}
	registry.MustRegister(newTestCloud().Collectors()...)
	_, err := measure(registry, doubled{newTestCloud()})
	if err == nil || !strings.Contains(err.Error(), "registering the cloud's metrics") {
		t.Errorf("error = %v", err)
	}
	if families, err := registry.Gather(); err != nil || len(families) != 1 {
		t.Errorf("after a failure: %v, %v", families, err)
	}
	if done, err := measure(registry, &fakecloud.Cloud{}); err != nil {
		t.Errorf("a cloud without metrics: %v", err)
	} else {
		done()
	}
}

// doubled has one metric that is new and one that is not.
type doubled struct{ *testCloud }

func (d doubled) Collectors() []prometheus.Collector {
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: "other", Help: "Another one."})
	return append([]prometheus.Collector{other}, d.testCloud.Collectors()...)
}
