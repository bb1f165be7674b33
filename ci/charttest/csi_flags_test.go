package charttest

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
)

// TestCSIFlagsExist wants the driver to know every flag of every values file, and to accept its value.
func TestCSIFlagsExist(t *testing.T) {
	for name, path := range CSI.ValuesFiles(t) {
		rendered := csiObjectsOf(t, readValues(t, path))
		for _, template := range []*corev1.PodTemplateSpec{podTemplateOf[*appsv1.Deployment](rendered),
			podTemplateOf[*appsv1.DaemonSet](rendered)} {
			container := template.Spec.Containers[0]
			root := driver.NewCommand(driver.Environment{Build: build.Current(),
				Getenv: func(string) string { return "" }})
			cmd, _, err := root.Find(container.Command[1:])
			if err != nil || cmd == root {
				t.Fatalf("%s: command %q: error %v", name, container.Command, err)
			}
			for _, arg := range container.Args {
				// kubelet replaces the reference before the driver sees it.
				if err := cmd.ParseFlags([]string{strings.ReplaceAll(arg, "$(NODE_NAME)", "node-1")}); err != nil {
					t.Errorf("%s: %s refuses %s: %v", name, cmd.Name(), arg, err)
				}
			}
		}
	}
}
