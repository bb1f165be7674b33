package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCompletion: the shell gets names of the cluster, and never names of files in their place.
func TestCompletion(t *testing.T) {
	r := newRig(t)
	r.addService("web")
	r.addService("wiki")
	if _, err := r.cluster.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for line, names := range map[string]string{
		"plan ": "web wiki", "plan wi": "wiki", "plan web ": "", "top ": "web wiki", "nodes ": "a b",
		"doctor ": "", "migrate ": "", "orphans delete ": "", "plan --namespace=sh": "shop", "nodes -n sh": "shop",
		"doctor --context=": "c", "doctor --ccm=": "",
	} {
		words := strings.Split(line, " ")
		got := r.run(append([]string{"__complete"}, words...)...)
		all := strings.Split(got.out, "\n")
		directive := all[len(all)-2]
		want(r, line+": names", strings.Join(all[:len(all)-2], " "), names)
		want(r, line+": directive", directive, ":4") // no files
	}
	if files := r.run("__complete", "doctor", "--cloud-config="); !strings.Contains(files.out, ":0") {
		t.Errorf("--cloud-config completes no files: %s", files.out)
	}
}

// TestFlagsOfKubectl: each command accepts the flags of kubectl, also where they change nothing.
func TestFlagsOfKubectl(t *testing.T) {
	r := newRig(t)
	r.addService("web")
	r.reconcile()
	for _, command := range []string{"doctor", "nodes", "plan", "top", "orphans", "migrate"} {
		with, without := r.run(command, "--context=c", "-n", "shop", "-A"), r.run(command)
		if strings.Contains(with.err, "unknown") || with.code != without.code || with.out == "" {
			t.Errorf("%s: code %d and %q, without flags %d", command, with.code, with.err, without.code)
		}
		if got := r.run(command, "--context=other"); got.code == 0 || !strings.Contains(got.err+got.out, "other") {
			t.Errorf("%s --context=other: code %d and %q", command, got.code, got.err)
		}
	}
}
