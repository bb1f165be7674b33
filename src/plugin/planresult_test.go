package plugin

import "testing"

// TestPlanDiffers: a Service that waits for the cloud is not without a change. One whose difference is not known has an
// exit code of its own.
func TestPlanDiffers(t *testing.T) {
	for name, tt := range map[string]struct {
		service ServicePlan
		want    bool
	}{
		"in sync":           {ServicePlan{Notices: []Notice{{Reason: "InvalidAnnotation"}}}, false},
		"writes":            {ServicePlan{Operations: []Operation{{Verb: "create"}}}, true},
		"refused":           {ServicePlan{Refused: "it is full"}, true},
		"waits":             {ServicePlan{Waiting: "the load balancer is being created"}, true},
		"without finalizer": {ServicePlan{AddFinalizer: true}, true},
		"not known":         {ServicePlan{Error: "no answer"}, false},
	} {
		if got := (Plan{Services: []ServicePlan{tt.service}}).differs(); got != tt.want {
			t.Errorf("%s: differs %t, want %t", name, got, tt.want)
		}
	}
}
