//go:build e2e

package e2etest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// report is the folder with what helps to find out why a proof failed.
type report struct {
	folder string
	mu     sync.Mutex
	story  bytes.Buffer
}

// newReport empties the folder.
func newReport(t *testing.T, root string) *report {
	t.Helper()
	r := &report{folder: filepath.Join(root, "dist", "e2e")}
	if err := errors.Join(os.RemoveAll(r.folder), os.MkdirAll(r.folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	// Also when the cluster does not start.
	t.Cleanup(func() {
		if err := os.WriteFile(filepath.Join(r.folder, "story.txt"), r.told(), 0o644); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *report) say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.story.WriteString(line + "\n")
}

func (r *report) told() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.story.Bytes())
}

// collectLimit bounds how long a cluster that is broken may take to say why.
const collectLimit = 30 * time.Second

// collect writes logs, and what the API server and the cloud know, if something failed.
func (r *report) collect(t *testing.T, l *lab) {
	t.Helper()
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), collectLimit)
	defer cancel()
	failed := []error{l.Logs(filepath.Join(r.folder, "logs")), r.write("cloud.json", l.Cloud().State()), r.write("cloud-writes.json", l.Cloud().Writes())}
	core := l.API().CoreV1()
	for name, list := range map[string]func() (any, error){
		"nodes.yaml":    func() (any, error) { return core.Nodes().List(ctx, metav1.ListOptions{}) },
		"pods.yaml":     func() (any, error) { return core.Pods("").List(ctx, metav1.ListOptions{}) },
		"services.yaml": func() (any, error) { return core.Services("").List(ctx, metav1.ListOptions{}) },
		"events.yaml":   func() (any, error) { return core.Events("").List(ctx, metav1.ListOptions{}) },
	} {
		objects, err := list()
		if err == nil {
			err = r.write(name, objects)
		}
		failed = append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		t.Errorf("collecting what helps to find out why: %v", err)
	}
	t.Logf("logs, events and what the cloud did are in %s", r.folder)
}

func (r *report) write(name string, what any) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err == nil && filepath.Ext(name) == ".yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(r.folder, name), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// closeQuietly closes what was only read.
func closeQuietly(c io.Closer) { _ = c.Close() }
