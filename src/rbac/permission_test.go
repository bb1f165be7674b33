package rbac

import (
	"slices"
	"testing"

	"k8s.io/cloud-provider/names"
)

// TestNeeded: only permissions of the parts that run, with the accounts that they use.
func TestNeeded(t *testing.T) {
	nodes := func(part string) bool { return part == names.CloudNodeController }
	for name, test := range map[string]struct {
		accounts bool
		runs     func(string) bool
		with     []string
		without  []string
	}{
		"one account": {false, nodes, []string{"patch nodes/status", "list nodes",
			"update leases.coordination.k8s.io cloud-controller-manager in kube-system"},
			[]string{"delete nodes", "list services"}},
		"an account for every controller": {true, nodes, []string{"patch nodes/status",
			"create serviceaccounts/token " +
				"node-controller in kube-system"}, []string{"delete nodes"}},
		"no controller": {false, func(string) bool { return false }, []string{"create events"},
			[]string{"list nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			needed, err := Needed(test.accounts, test.runs)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, one := range needed {
				if one.Accounts != test.accounts {
					t.Errorf("%+v is for other accounts", one)
				}
				all = append(all, one.String())
			}
			for _, one := range test.with {
				if !slices.Contains(all, one) {
					t.Errorf("%q is missing in %q", one, all)
				}
			}
			for _, one := range test.without {
				if slices.Contains(all, one) {
					t.Errorf("%q is in %q", one, all)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	if _, err := Parse([]byte("no JSON")); err == nil {
		t.Error("a text that is no list was read")
	}
}
