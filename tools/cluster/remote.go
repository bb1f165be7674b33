//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// note is what a running cluster leaves for the commands that change it.
type note struct {
	// CloudURL is where the cloud's API is, Folder the cluster's.
	CloudURL, Folder, Kubeconfig string
	// Namespace is the one from which load balancers are reached.
	Namespace string
}

// notePath is where the cluster of a repository leaves its note.
func notePath(root string) string { return filepath.Join(root, "dist", "cluster", "running.json") }

// remember leaves the note.
func (c *Cluster) remember(context.Context) error {
	content, err := json.MarshalIndent(note{c.cloudURL, c.Dir(), c.Kubeconfig(), c.Client().Path()}, "", "  ")
	if err != nil {
		return err
	}
	path := notePath(c.options.Root)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("leaving a note about the cluster: %w", err)
	}
	c.later("the note about the cluster", func() error { return os.Remove(path) })
	return nil
}

func readNote(root string) (note, error) {
	var n note
	content, err := os.ReadFile(notePath(root))
	if errors.Is(err, os.ErrNotExist) {
		return n, errors.New("no cluster of this repository runs; make cluster starts one")
	}
	if err == nil {
		err = json.Unmarshal(content, &n)
	}
	if err != nil {
		return n, fmt.Errorf("reading the note about the cluster: %w", err)
	}
	return n, nil
}
