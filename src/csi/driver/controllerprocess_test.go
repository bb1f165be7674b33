package driver

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// cloudConfig is a configuration for the emulated cloud whose credentials are those of a workload identity.
const cloudConfig = `organisation: ` + emulator.DefaultOrganisation + `
vpcIdentity: ` + emulator.DefaultVPC + `
cluster: k8s-1
endpoint: http://cloud.test
api: {callTimeout: 7}
inventory: {machineAge: 300}
cloudCredentials:
  workloadIdentity:
    serviceAccountID: ` + emulator.DefaultServiceAccount + `
    organisationID: ` + emulator.DefaultOrganisation + `
    subjectTokenFile: TOKEN
`

// kubeconfig is that of a cluster that does not answer.
const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a}}]
current-context: a
`

// files writes files, and returns their paths by name.
func files(t *testing.T, contents map[string]string) map[string]string {
	t.Helper()
	paths := map[string]string{}
	for name, content := range contents {
		paths[name] = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(paths[name], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// newProcess returns the process of the controller in front of an emulated cloud, with a token of the pod.
func newProcess(t *testing.T, emulated *emulator.Emulator, token string) *controllerProcess {
	t.Helper()
	paths := files(t, map[string]string{"token": token, "kubeconfig": kubeconfig})
	config := files(t, map[string]string{"config": strings.ReplaceAll(cloudConfig, "TOKEN", paths["token"])})["config"]
	process, err := newControllerProcess(
		Environment{Build: build.Current(), Getenv: noEnvironment, Network: emulated.Transport()},
		common{name: DefaultName, kubeconfig: paths["kubeconfig"]}, config)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

// withCloud runs a test in virtual time, in front of an emulated cloud.
func withCloud(t *testing.T, test func(*testing.T, *emulator.Emulator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		emulated, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := emulated.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, emulated)
	})
}

// subjectToken returns a token for the service account of the cloud that is valid for some time.
func subjectToken(t *testing.T, emulated *emulator.Emulator, ttl time.Duration) string {
	t.Helper()
	token, err := emulated.SubjectToken("", "", "", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// The cloud gives a token for that of the pod, and refuses one that has expired.
func TestDefect17_ControllerHasTimeoutsAndWorkloadIdentity(t *testing.T) {
	withCloud(t, func(t *testing.T, emulated *emulator.Emulator) {
		process := newProcess(t, emulated, subjectToken(t, emulated, time.Hour))
		if got := process.cloud.DrainTimeout(); got != 7*time.Second {
			t.Errorf("calls to the cloud take at most %s, want 7s", got)
		}
		if _, err := process.controller.ListVolumes(t.Context(), &csi.ListVolumesRequest{}); err != nil {
			t.Errorf("with a token of the pod: %v", err)
		}
		if n := emulated.Counters()["POST /oidc/token"]; n != 1 {
			t.Errorf("%d exchanges of a token, want 1; calls %v", n, emulated.Counters())
		}
		process = newProcess(t, emulated, subjectToken(t, emulated, -time.Minute))
		_, err := process.controller.ListVolumes(t.Context(), &csi.ListVolumesRequest{})
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), emulator.DefaultServiceAccount) {
			t.Errorf("with a token that has expired: %v, want PermissionDenied with the service account", err)
		}
	})
}

// A list of machines is as old as inventory.machineAge permits.
func TestMachineAgeIsConfigured(t *testing.T) {
	withCloud(t, func(t *testing.T, emulated *emulator.Emulator) {
		if _, err := emulated.AddMachine(emulator.MachineSpec{Name: "worker-1"}); err != nil {
			t.Fatal(err)
		}
		process := newProcess(t, emulated, subjectToken(t, emulated, time.Hour))
		node := &corev1.Node{} // without provider ID
		node.Name = "worker-1"
		if err := process.nodes.GetIndexer().Add(node); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 1, 2} {
			names, err := process.controller.Nodes.Names(t.Context())
			if err != nil || len(names) != 1 {
				t.Errorf("machines of Nodes %v, %v; want that of worker-1", names, err)
			}
			if _, err := process.controller.Nodes.Machine(t.Context(), "worker-1"); err != nil {
				t.Error(err)
			}
			if n := emulated.Counters()[http.MethodGet+" /v1/machines"]; n != want {
				t.Errorf("%d lists of machines, want %d", n, want)
			}
			<-time.After(200 * time.Second)
		}
	})
}

func TestDefect18_KubeconfigIsUsed(t *testing.T) {
	for _, cmd := range command().Commands() {
		if f := cmd.Flags().Lookup("kubeconfig"); f == nil || f.DefValue != "" {
			t.Errorf("%s has the flag %v, want --kubeconfig, whose default is that of the pod", cmd.Name(), f)
		}
	}
	path := files(t, map[string]string{"kubeconfig": kubeconfig})["kubeconfig"]
	place, err := nodeFlags{common: common{kubeconfig: path}, node: "worker-1"}.place()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place(t.Context()); err == nil || !strings.Contains(err.Error(), "reading Node worker-1") ||
		!strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v, want an error from the cluster of the kubeconfig", err)
	}
}
