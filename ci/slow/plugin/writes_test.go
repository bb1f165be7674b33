package plugin

import (
	"slices"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/ci/rbactest"
)

// attempt is a command with the exit code and the text that it should have.
type attempt struct {
	args []string
	code int
	want string
}

// wantNoWrites runs commands, and checks that users wrote nothing to the API server in them, and nobody to the cloud.
func (r *rig) wantNoWrites(attempts []attempt, users ...string) {
	r.Helper()
	wrote := r.writes(func() {
		for _, test := range attempts {
			output, code := r.run(test.args...)
			if code != test.code || !strings.Contains(output, test.want) {
				r.Errorf("%v ended with %d, want %d and %q:\n%s", test.args, code, test.code, test.want, output)
			}
			if strings.Contains(output, "forbidden") {
				r.Errorf("%v needs a permission that is not documented:\n%s", test.args, output)
			}
		}
	}, users...)
	for _, write := range wrote {
		r.Errorf("a command that reads made the write %s", write)
	}
}

// writes returns what each of the users wrote to the API server while a function ran, by its log, and what Thalassa
// Cloud got.
func (r *rig) writes(run func(), users ...string) (wrote []string) {
	r.Helper()
	began, err := rbactest.Size(r.plane.AuditLog())
	r.must(err)
	if r.cloud.Emulator != nil {
		r.cloud.ResetCounters()
	}
	run()
	requests, err := rbactest.Requests(r.plane.AuditLog(), began)
	r.must(err)
	seen := map[string]bool{}
	for _, request := range requests {
		if !slices.Contains(users, request.User) {
			continue
		}
		seen[request.User] = true
		if !slices.Contains([]string{"get", "list", "watch"}, request.Verb) &&
			!strings.HasSuffix(request.Resource, "subjectaccessreviews") {
			wrote = append(wrote, request.Verb+" "+request.Resource+" "+request.Namespace+"/"+request.Name)
		}
	}
	if len(seen) < len(users) {
		r.Errorf("the audit log has requests of %v only, want some of each of %v", seen, users)
	}
	if r.cloud.Emulator != nil {
		for _, write := range r.cloud.Writes() {
			wrote = append(wrote, write.Operation)
		}
	}
	return wrote
}
