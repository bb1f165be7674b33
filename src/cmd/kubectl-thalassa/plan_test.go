package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin"
	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// TestPlan: it shows the writes that the controller then makes, in its order, and writes nothing itself.
func TestPlan(t *testing.T) {
	r := newRig(t)
	const none = " has a load balancer of this cloud controller manager."
	want(r, "without Services", r.run("plan", "-A").out, "No Service"+none+"\n")
	const namespace = "No Service in the namespace shop" + none + " -A shows those of all namespaces.\n"
	want(r, "without Services in the namespace", r.run("plan").out, namespace)
	wantText(r, "without Services in the namespace, top", r.run("top").out, namespace)
	r.addService("web")
	r.wrote()
	shown := r.run("plan")
	wantText(r, "the plan", shown.out, "Service shop/web\n", "  + create target group ", "  + create load balancer ",
		"  + add the finalizer of load balancers to the Service", "to create", "for 1 of 1 Service.\n")
	want(r, "exit code", shown.code, 0)
	want(r, "exit code with --exit-code", r.run("plan", "--exit-code").code, 2)
	want(r, "names", r.run("plan", "-o", "name").out, "service/web\n")
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	r.reconcile()
	r.wrote()
	want(r, "afterwards", r.run("plan").out, "No changes: the cloud agrees with 1 Service.\n")
	want(r, "exit code afterwards", r.run("plan", "--exit-code").code, 0)
	wantText(r, "with -o wide", r.run("plan", "-o", "wide").out, "Service shop/web (", "no changes")
	want(r, "writes", strings.Join(r.wrote(), ", "), "")
	r.changeService("web", func(s *corev1.Service) { s.Finalizers = nil })
	wantText(r, "without the finalizer", r.run("plan").out, "  + add the finalizer of load balancers to the Service",
		"Plan: 0 to create, 0 to update, 0 to delete, for 0 of 1 Service.")
	want(r, "exit code without the finalizer", r.run("plan", "--exit-code").code, 2)
}

// TestPlanOfChanges: updates, deletions, and what the owner of a Service can change.
func TestPlanOfChanges(t *testing.T) {
	r := newRig(t)
	r.addService("web")
	r.addService("old")
	r.reconcile()
	r.changeService("web", func(s *corev1.Service) {
		s.Spec.Ports[0].NodePort = 30081
		s.Annotations = map[string]string{"loadbalancer.k8s.thalassa.cloud/max-connection": "5"}
	})
	r.changeService("old", func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{} })
	shown := r.run("plan").out
	wantText(r, "the plan", shown, "Service shop/old (", "), needs no load balancer any more\n", "  - delete load "+
		"balancer",
		"  ~ update target group", "target port 30080 becomes 30081", "  ! InvalidAnnotation: ",
		"Plan: 0 to create, 1 to update, 1 to delete, for 2 of 2 Services.")
	one := r.run("plan", "service/web").out
	if strings.Contains(one, "shop/old") {
		t.Errorf("the plan of one Service contains another one:\n%s", one)
	}
	wantText(r, "in another namespace", r.run("plan", "-n", "other").out, "No Service in the namespace other has ")
	wantText(r, "an unknown flag", r.run("plan", "--al").err, "unknown flag: --al: see kubectl thalassa plan --help")
	wantText(r, "an unknown Service", r.run("plan", "nope").err, "Error: service shop/nope has no load balancer")
	wantText(r, "in all namespaces", r.run("plan", "-A", "nope").err, "Error: service nope of any namespace has no ")
}

// TestPlanAsJSON: the fields are those of a version, and nothing is left out.
func TestPlanAsJSON(t *testing.T) {
	r := newRig(t)
	r.addService("web")
	var plan plugin.Plan
	decoder := json.NewDecoder(strings.NewReader(r.run("plan", "-A", "-o", "json").out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&plan); err != nil {
		t.Fatal(err)
	}
	want(r, "header", plan.Header, plugin.Header{APIVersion: "kubectl.k8s.thalassa.cloud/v1", Kind: "Plan",
		Cloud: "thalassacloud", Workload: "Deployment " +
			"kube-system/thalassa-ccm", Version: "0.1.0", PluginVersion: "0.1.0"})
	want(r, "Services", len(plan.Services), 1)
	want(r, "writes", plan.Summary.Create+plan.Summary.Update+plan.Summary.Delete, len(plan.Services[0].Operations))
	wantText(r, "YAML", r.run("plan", "-A", "-o", "yaml").out, "kind: Plan\n", "- addFinalizer: true\n")
}

// TestPlanInATerminal: lines fit the width, and colours are used only if the terminal has them.
func TestPlanInATerminal(t *testing.T) {
	r := newRig(t)
	r.addService("web", func(s *corev1.Service) {
		s.Annotations = map[string]string{"loadbalancer.k8s.thalassa.cloud/max-connection": "5"}
	})
	for _, width := range []int{80, 200} {
		r.screen = terminal.Terminal{Width: width}
		for line := range strings.SplitSeq(r.run("plan").out, "\n") {
			if len(line) > width {
				t.Errorf("a line of %d characters at width %d: %s", len(line), width, line)
			}
		}
	}
	const escape = "\x1b["
	want(r, "colours without a terminal", strings.Contains(r.run("plan").out, escape), false)
	r.screen = terminal.Terminal{Width: 80, Colour: true}
	want(r, "colours in a terminal", strings.Contains(r.run("plan").out, escape+"32m  + create"), true)
}

// TestOtherVersion: a plug-in of another version than the cloud controller manager says so.
func TestOtherVersion(t *testing.T) {
	r := newRig(t)
	want(r, "the same version", r.run("plan").err, "")
	r.build.Version = "v0.2.0"
	wantText(r, "another version", r.run("plan").err, "kubectl thalassa has version v0.2.0",
		"Deployment kube-system/thalassa-ccm 0.1.0")
}

// TestOtherVersionOfADigest: charts of releases name their images by digest, and have the version in a label.
func TestOtherVersionOfADigest(t *testing.T) {
	r := newRig(t)
	r.changeWorkload(func(pod *corev1.PodSpec) {
		pod.Containers[0].Image = "registry.example/thalassa-ccm@sha256:" + strings.Repeat("0", 64)
	})
	wantText(r, "without the label", r.run("plan").err, "The version of Deployment kube-system/thalassa-ccm is not "+
		"known")
	deployments := r.cluster.AppsV1().Deployments("kube-system")
	for version, text := range map[string]string{"0.1.0": "", "0.0.9": "Deployment kube-system/thalassa-ccm 0.0.9"} {
		one, err := deployments.Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		one.Labels = map[string]string{"app.kubernetes.io/version": version}
		if _, err := deployments.Update(t.Context(), one, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"plan", "migrate"} {
			shown := r.run(command).err
			want(r, command+" is silent about "+version, shown == "", text == "")
			wantText(r, command, shown, text)
		}
	}
}

// TestOtherVersionThatCannotBeRead: the hint about versions comes before the error that it explains.
func TestOtherVersionThatCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.build.Version = "v0.2.0"
	r.changeWorkload(func(pod *corev1.PodSpec) {
		pod.Containers[0].Args = append(pod.Containers[0].Args, "--flag-of-tomorrow=\x1b[2J")
	})
	shown := r.run("plan").err
	wantText(r, "the error", shown, "has version v0.2.0", "unknown flag: --flag-of-tomorrow")
	want(r, "control characters", strings.Contains(shown, "\x1b"), false)
}

// TestFilesOfThisComputer: the configuration in the cluster cannot choose a file of this computer, whatever the pod has
// mounted at its path.
func TestFilesOfThisComputer(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(file, []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(r.config(), "{directory: /etc/thalassa-ccm/credentials}",
		"{workloadIdentity: {serviceAccountID: sa-1, organisationID: o-1, subjectTokenFile: "+file+"}}", 1)
	r.changeWorkload(func(pod *corev1.PodSpec) {
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts,
			corev1.VolumeMount{Name: "config", MountPath: filepath.Dir(file)})
	})
	configs := r.cluster.CoreV1().ConfigMaps("kube-system")
	one, err := configs.Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one.Data = map[string]string{"cloud-config.yaml": config, "private": "harmless"}
	if _, err := configs.Update(t.Context(), one, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.cloud.ResetCounters()
	wantText(r, "the error", r.run("plan").err, "only the pod gets the token of a workload identity",
		"--cloud-config=FILE")
	want(r, "calls", len(r.cloud.Counters()), 0)
}

// TestKubeconfigOfTheWorkload: the Services are those of the cluster that the cloud controller manager works for, also
// with another configuration of the cloud.
func TestKubeconfigOfTheWorkload(t *testing.T) {
	r := newRig(t)
	r.changeWorkload(func(pod *corev1.PodSpec) {
		pod.Containers[0].Args = append(pod.Containers[0].Args, "--kubeconfig=/etc/served/kubeconfig")
	})
	file := filepath.Join(t.TempDir(), "cloud-config.yaml")
	config := strings.Replace(r.config(), "{directory: /etc/thalassa-ccm/credentials}", "{personalAccessToken: "+token+
		"}", 1)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"plan"}, {"plan", "--cloud-config=" + file}} {
		wantText(r, "the error", r.run(args...).err,
			"--kubeconfig=/etc/served/kubeconfig of the cloud controller manager")
	}
	want(r, "with the choice of the user", r.run("plan", "--cloud-config="+file, "--ccm-flag=kubeconfig=").code, 0)
}

// TestFilesInKubeconfigOfTheWorkload: the files that the kubeconfig of the cloud controller manager names are files of
// its pod, and programs are not run.
func TestFilesInKubeconfigOfTheWorkload(t *testing.T) {
	r := newRig(t)
	r.changeWorkload(func(pod *corev1.PodSpec) {
		pod.Containers[0].Args = append(pod.Containers[0].Args, "--kubeconfig=/etc/thalassa-ccm/config/kubeconfig")
	})
	configs := r.cluster.CoreV1().ConfigMaps("kube-system")
	one, err := configs.Get(t.Context(), "thalassa-ccm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one.Data["token"] = "a-token"
	private := r.file("private")
	for user, text := range map[string]string{
		"tokenFile: token":                          "",
		"tokenFile: /etc/thalassa-ccm/config/token": "",
		"tokenFile: none": `the credentials of its user "u": open ` +
			"/etc/thalassa-ccm/config/none",
		"tokenFile: " + private:          private + " is not in a mounted volume",
		"client-certificate: " + private: private + " is not in a mounted volume",
		"exec: {command: id, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}": "a program that " +
			"only the pod has",
	} {
		one.Data["kubeconfig"] = "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: " +
			"{cluster: c, user: u}}], clusters: [{name: c, cluster: {server: 'https://c.invalid'}}], " +
			"users: [{name: u, user: {" + user + "}}]}"
		if one, err = configs.Update(t.Context(), one, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		got := r.run("plan")
		want(r, user+" is used", got.code == 0, text == "")
		wantText(r, user, got.err, text)
	}
}

// TestCloudConfigOfTheUser: a file on the computer takes the place of the configuration in the cluster.
func TestCloudConfigOfTheUser(t *testing.T) {
	r := newRig(t)
	r.addService("web")
	if err := r.cluster.AppsV1().Deployments("kube-system").Delete(t.Context(), "thalassa-ccm",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	without := r.run("plan")
	want(r, "exit code", without.code, 1)
	wantText(r, "without a workload", without.err, "no cloud controller manager was found in this cluster",
		"profile managed", "--cloud-config=FILE")
	file := filepath.Join(t.TempDir(), "cloud-config.yaml")
	config := strings.Replace(r.config(), "{directory: /etc/thalassa-ccm/credentials}", "{personalAccessToken: "+
		""+token+"}", 1)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	wantText(r, "with a file", r.run("plan", "--cloud-config="+file).out, "create load balancer")
	wantText(r, "with a flag", r.run("plan", "--cloud-config="+file, "--ccm-flag=cloud-provider=none").err,
		"unknown --cloud-provider=none")
}
