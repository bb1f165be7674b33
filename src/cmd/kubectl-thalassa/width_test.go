package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWidths: with long names, no line of a command is wider than the terminal.
func TestWidths(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("long-", 12) + "en"
	r.addNode(long)
	r.addService("old-"+long[:58], func(s *corev1.Service) { s.UID = "0a1b2c3d-0000-0000-0000-0123456789ab" })
	r.reconcile()
	r.ready(corev1.ConditionTrue, "a", long)
	r.healthy(everything)
	if err := r.cluster.CoreV1().Services("shop").Delete(t.Context(), "old-"+long[:58],
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.addService(long, func(s *corev1.Service) { s.UID = "0a1b2c3d-0000-0000-0000-0123456789ac" })
	for _, width := range []int{80, 200} {
		r.screen.Width = width
		for command, want := range map[string]string{"plan": "create load balancer", "doctor": "Configuration",
			"nodes": "NODE", "orphans": "KEPT BECAUSE", "top --once": "IN SYNC", "migrate": "Not ready."} {
			t.Run(fmt.Sprintf("%s in %d columns", command, width), func(t *testing.T) {
				got := r.run(strings.Fields(command)...)
				if !strings.Contains(got.out, want) {
					t.Errorf("the output lacks %q:\n%s%s", want, got.out, got.err)
				}
				for line := range strings.SplitSeq(got.out, "\n") {
					if utf8.RuneCountInString(line) > width {
						t.Errorf("a line is wider than %d columns: %s", width, line)
					}
				}
				if strings.Contains(got.out, "\x1b") {
					t.Errorf("there is a control sequence without colours: %q", got.out)
				}
			})
		}
	}
}
