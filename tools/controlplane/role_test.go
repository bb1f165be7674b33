package controlplane

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// ownerEnv makes the test binary an owner of a control plane in the folder it names.
const ownerEnv = "CONTROLPLANE_TEST_OWNER"

func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv(ownerEnv); ok {
		if err := own(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// klog writes its buffers from a goroutine it never ends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// own starts a control plane, says which processes it has and waits for its input to end, which
// it does with the test at the latest.
func own(dir string) error {
	c, err := Start(context.Background(), Options{Dir: dir})
	if err != nil {
		return err
	}
	fmt.Println(c.pids())
	_, _ = os.Stdin.Read(make([]byte, 1))
	return c.Stop()
}

// pids lists the processes of a control plane.
func (c *ControlPlane) pids() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pids []int
	for _, p := range c.components {
		pids = append(pids, p.PID())
	}
	return pids
}
