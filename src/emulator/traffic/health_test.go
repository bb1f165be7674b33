package traffic

import "testing"

func TestWorst(t *testing.T) {
	var none Health
	for _, tt := range []struct{ one, other, want Health }{
		{none, Healthy, Healthy}, {none, Unhealthy, Unhealthy}, {Unchecked, Unchecked, Unchecked},
		{Healthy, Healthy, Healthy}, {Healthy, Unhealthy, Unhealthy}, {Unhealthy, Healthy, Unhealthy},
	} {
		if got := tt.one.Worst(tt.other); got != tt.want {
			t.Errorf("the worst of %q and %q is %q, want %q", tt.one, tt.other, got, tt.want)
		}
	}
}
