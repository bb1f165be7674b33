package plugin

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/ci/terminal"
)

// orphanUID is the UID of a Service that does not exist.
const orphanUID = "0a1b2c3d-4e5f-4a6b-8c7d-0a1b2c3d4e5f"

// isOrphan reports whether an object in the cloud belongs to that Service, by its name, which may be shortened.
func isOrphan(name string) bool { return strings.Contains(name, "0a1b2c3d4e5f4a6b8c7d0a1b2c3d4e") }

// addOrphan makes what a Service with a long name has left in the cloud.
func (r *rig) addOrphan() {
	r.plant(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: longName(), UID: orphanUID},
		Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}}})
}

// testDeletion: orphans delete asks on a terminal, and another answer than the word deletes nothing. The word deletes
// all objects of the orphan and no others, and nothing else is written. Writes are those that do this, of all users.
func (r *rig) testDeletion(users []string, writes ...string) {
	before := r.objects()
	wrote := r.writes(func() { r.answer("no", 1, `nothing is deleted: the answer was not "delete"`) }, users...)
	if got := r.objects(); len(wrote) > 0 || !slices.Equal(got, before) {
		r.Errorf("without the word, %v is written, and of %v the cloud still has %v", wrote, before, got)
	}
	wrote = r.writes(func() { r.answer("delete", 0, "Deleted 1 of 1 orphan.") }, users...)
	if !slices.Equal(wrote, writes) {
		r.Errorf("to delete the orphan, %q is written, want %q", wrote, writes)
	}
	others := slices.DeleteFunc(slices.Clone(before), isOrphan)
	if got := r.objects(); !slices.Equal(got, others) || len(others) == 0 || len(others) == len(before) {
		r.Errorf("of %v the cloud still has %v, want %v", before, got, others)
	}
}

// answer runs orphans delete on a terminal, and answers its question. What it shows fits the terminal, and ends with a
// text.
func (r *rig) answer(answer string, code int, want string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute)
	defer cancel()
	on, cmd := terminal.New(r, 80), r.command(ctx, "orphans", "delete", orphanUID)
	on.Start(cmd)
	question := on.Await(0, `Type "delete" to confirm: `)
	if !strings.Contains(question, orphanUID) {
		r.Errorf("the question is not about the orphan:\n%s", question)
	}
	on.Press(answer + "\n")
	terminal.RequireWidth(r, on.Await(0, want), 80)
	_ = cmd.Wait() // the exit code is checked below
	if got := cmd.ProcessState.ExitCode(); got != code {
		r.Errorf("orphans delete, answered with %q, ended with %d, want %d", answer, got, code)
	}
}
