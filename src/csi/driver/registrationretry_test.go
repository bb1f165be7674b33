package driver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/build"
)

// TestRegistrationIsTriedAgain starts a plug-in whose Node has no region at first, and whose first registration fails:
// there is no socket before the region is known, and another one after the failure.
func TestRegistrationIsTriedAgain(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "reg.sock")
	var asked atomic.Int32
	r := newRegistration(DefaultName, "/csi.sock", func(context.Context) error {
		if _, err := os.Stat(socket); err == nil && asked.Load() < 3 {
			t.Error("there is a socket although the region is not known")
		}
		if asked.Add(1) < 3 {
			return errors.New("the Node has no region")
		}
		return nil
	})
	r.interval = time.Millisecond
	served, err := newServices(build.Info{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- served.serveRegistration(ctx, socket, r) }()

	first := register(t, socket, &registerapi.RegistrationStatus{Error: "no connection"})
	if err := r.ready(); err == nil || !strings.Contains(err.Error(), "no connection") {
		t.Errorf("after a registration that failed, the plug-in is ready: %v", err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for same(t, socket, first) {
		<-tick.C
	}
	register(t, socket, &registerapi.RegistrationStatus{PluginRegistered: true})
	if err := r.ready(); err != nil {
		t.Errorf("after the registration, the plug-in is not ready: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// register does what the kubelet does when it finds a socket. It returns the socket's file.
func register(t *testing.T, socket string, result *registerapi.RegistrationStatus) os.FileInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		triedSoon())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	kubelet := registerapi.NewRegistrationClient(conn)
	info, err := kubelet.GetInfo(ctx, &registerapi.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil || info.GetName() != DefaultName || info.GetEndpoint() != "/csi.sock" {
		t.Fatalf("the plug-in is %v: %v", info, err)
	}
	file, err := os.Stat(socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubelet.NotifyRegistrationStatus(ctx, result); err != nil {
		t.Fatal(err)
	}
	return file
}

// same reports whether the socket is still the one of before, or not there.
func same(t *testing.T, socket string, before os.FileInfo) bool {
	t.Helper()
	now, err := os.Stat(socket)
	return err != nil || os.SameFile(now, before) && now.ModTime().Equal(before.ModTime())
}
