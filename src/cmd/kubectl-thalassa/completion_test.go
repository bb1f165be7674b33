package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/fault"
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

// TestCompletionOfOrphans: the UIDs of what the flags permit to delete are completed with the names of their Services.
// Nothing is written or printed beside them, and without an answer nothing is completed.
func TestCompletionOfOrphans(t *testing.T) {
	r := newOrphanRig(t)
	r.addService("kept", func(s *corev1.Service) {
		s.Annotations = map[string]string{"loadbalancer.k8s.thalassa.cloud/on-delete": "keep"}
	})
	r.reconcile()
	r.deleteService("kept")
	r.build.Version = "0.2.0" // for which other commands print a hint
	r.wrote()
	old, kept := uidOld+"\tshop/old\n", uidKept+"\tshop/kept\n"
	complete := func(line string) string {
		got := r.run(append([]string{"__complete", "orphans", "delete"}, strings.Split(line, " ")...)...)
		names, found := strings.CutSuffix(got.out, ":4\n") // no files
		want(r, line+": no names of files", found, true)
		want(r, line+": hints", strings.Contains(got.err, "Warning"), false)
		return names
	}
	for line, names := range map[string]string{"": old, uidOld[:4]: old, "x": "", uidOld + " ": "", "--all ": "",
		"--retained ": kept + old} {
		want(r, "orphans delete "+line, complete(line), names)
	}
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	if _, err := r.cloud.Inject(fault.Rule{Effect: fault.Effect{Kind: fault.Unauthorised}}); err != nil {
		t.Fatal(err)
	}
	want(r, "without credentials", complete(""), "")
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
