package spelling

import "testing"

func TestClosest(t *testing.T) {
	keys := []string{"organisation", "endpoint", "vpcIdentity", "cluster", "defaultSubnet"}
	tests := []struct {
		name, word, want string
		found            bool
	}{
		{"american spelling", "organization", "organisation", true},
		{"letter swapped", "vpcIdentiyt", "vpcIdentity", true},
		{"wrong case", "defaultsubnet", "defaultSubnet", true},
		{"nothing alike", "loadBalancerClass", "", false},
		{"far too short", "x", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, found := Closest(tt.word, keys)
			if got != tt.want || found != tt.found {
				t.Errorf("Closest(%q) = %q, %v; want %q, %v", tt.word, got, found, tt.want, tt.found)
			}
		})
	}
	if got, found := Closest("anything", nil); found {
		t.Errorf("Closest without candidates = %q, want none", got)
	}
}
