package process_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/tools/process"
	"go.uber.org/goleak"
)

// The test binary plays the processes under test: which one, and where its test listens, comes
// in these variables.
const (
	roleEnv     = "PROCESS_TEST_ROLE"
	lifelineEnv = "PROCESS_TEST_LIFELINE"
	escapeEnv   = "PROCESS_TEST_ESCAPE" // the role parent puts its child into a session of its own
)

func TestMain(m *testing.M) {
	role, ok := os.LookupEnv(roleEnv)
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	roles := map[string]func() error{
		"polite": holdLifeline, "stubborn": stubborn, "owner": owner, "parent": parent,
	}
	if err := roles[role](); err != nil {
		fmt.Fprintln(os.Stderr, "role", role, err)
		os.Exit(1)
	}
}

// self is a Spec that runs the test binary in a role, connected to a test's lifeline.
func self(role, lifeline string) process.Spec {
	return process.Spec{
		Name: role,
		Path: "/proc/self/exe",
		Env:  append(os.Environ(), roleEnv+"="+role, lifelineEnv+"="+lifeline),
	}
}

// holdLifeline keeps a connection to the test open for as long as this process lives: the kernel
// closes it with the process, by which the test detects the end without polling. It ends when
// the test closes its side, so that nothing survives a failed test.
func holdLifeline() error {
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", os.Getenv(lifelineEnv))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte{'!'}); err != nil {
		return err
	}
	_, _ = conn.Read(make([]byte, 1))
	return nil
}

func stubborn() error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	fmt.Println("not listening to SIGTERM")
	return holdLifeline()
}

// owner starts a stubborn child with the package under test and waits to be killed.
func owner() error {
	child, err := process.Start(context.Background(), self("stubborn", os.Getenv(lifelineEnv)))
	if err != nil {
		return err
	}
	return child.Wait()
}

// parent starts a stubborn child in its own process group with nothing but os/exec and shares
// its output with it.
func parent() error {
	child := exec.CommandContext(context.Background(), "/proc/self/exe")
	child.Env = append(os.Environ(), roleEnv+"=stubborn")
	child.Stdout = os.Stdout
	_, escape := os.LookupEnv(escapeEnv)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: escape}
	if err := child.Start(); err != nil {
		return err
	}
	return holdLifeline()
}
