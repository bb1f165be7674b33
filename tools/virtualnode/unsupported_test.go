package virtualnode_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A pod that needs what a virtual node does not have says so.
func TestUnsupported(t *testing.T) {
	c := newCluster(t)
	c.start(t, "one", "127.0.76.3", nil)
	spec := c.programSpec(17001)
	spec.InitContainers = []corev1.Container{programContainer(17002)}
	spec.InitContainers[0].Name, spec.InitContainers[0].ReadinessProbe = "init", nil
	c.createPod(t, "daemon", spec)
	c.pod(t, "daemon", "waits", waits("CreateContainerConfigError", "virtual nodes run no init containers"))
}
