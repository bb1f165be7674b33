package fault

import "testing"

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern, text string
		want          bool
	}{
		{"", "anything", true},
		{"*", "anything", true},
		{"*", "", true},
		{"POST *", "POST /v1/machines", true},
		{"POST *", "GET /v1/machines", false},
		{"POST /v1/machines", "POST /v1/machines", true},
		{"POST /v1/machines", "POST /v1/machines/{id}/stop", false},
		{"* /v1/loadbalancers/{id}", "DELETE /v1/loadbalancers/{id}", true},
		{"* /v1/loadbalancers/{id}", "DELETE /v1/loadbalancers/{id}/listeners", false},
		{"* /v1/*/{id}", "GET /v1/vpcs/{id}", true},
		{"/v1/machines/vm-1*", "/v1/machines/vm-12", true},
		{"/v1/machines/vm-1*", "/v1/machines/vm-2", false},
		{"a*b*c", "abc", true},
		{"a*b*c", "acb", false},
		// Neither end may be used twice.
		{"ab*ba", "aba", false},
		{"ab*ba", "abba", true},
		{"**", "x", true},
	}
	for _, test := range tests {
		if got := glob(test.pattern, test.text); got != test.want {
			t.Errorf("glob(%q, %q) = %t, want %t", test.pattern, test.text, got, test.want)
		}
	}
}

func TestRuleCovers(t *testing.T) {
	if r := (Rule{Operation: "DELETE *"}); !r.Covers("DELETE /v1/machines/{id}") || r.Covers("GET /v1/machines") {
		t.Error("DELETE * must cover deletions and nothing else")
	}
}
