//go:build linux

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/renameio/v2"
)

const (
	stateName      = "running.json"
	kubeconfigName = "kubeconfig"
)

// StateFolder is where the cluster of a repository writes its state file, and a kubeconfig whose path never changes.
func StateFolder(root string) string { return filepath.Join(root, "dist", "cluster") }

// Announce writes a state file into a folder, by which Find finds this cluster until it is closed, and a kubeconfig
// beside it. Both belong to the user who called sudo, if any: that user's kubectl cannot read root's.
func (c *Cluster) Announce(folder string) (Remote, error) {
	r := Remote{
		CloudURL: c.CloudURL(), Folder: c.Dir(), Kubeconfig: filepath.Join(folder, kubeconfigName),
		Namespace: c.Client().Path(),
		Bare:      c.options.Bare, Networks: c.options.Networks,
	}
	state, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return r, err
	}
	config, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		return r, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return r, fmt.Errorf("writing the state file of the cluster: %w", err)
	}
	owner := caller(os.Getuid(), os.Getgid(), os.Getenv)
	for name, content := range map[string][]byte{kubeconfigName: config, stateName: state} {
		path := filepath.Join(folder, name)
		if err := owner.write(path, content); err != nil {
			return r, fmt.Errorf("writing the state file of the cluster: %w", err)
		}
		c.later(path, func() error { return os.Remove(path) })
	}
	return r, nil
}

// Find finds the cluster that has a state file in a folder: the one that was started last.
func Find(folder string) (Remote, error) {
	var r Remote
	content, err := os.ReadFile(filepath.Join(folder, stateName))
	if errors.Is(err, os.ErrNotExist) {
		return r, errors.New("no cluster of this repository runs; make cluster starts one")
	}
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return r, fmt.Errorf("reading the state file of the cluster: %w", err)
	}
	if _, err := os.Stat(r.Folder); err != nil {
		return r, errors.New("the cluster of this repository was killed; make cluster starts another one")
	}
	return r, nil
}

// owner is who owns a file.
type owner struct{ user, group int }

// caller is who has to own what root makes for another user: the user who called sudo. Without sudo it is the user of
// this process.
func caller(user, group int, environment func(string) string) owner {
	as, err := strconv.Atoi(environment("SUDO_UID"))
	with, bad := strconv.Atoi(environment("SUDO_GID"))
	if user != 0 || err != nil || bad != nil {
		return owner{user, group}
	}
	return owner{as, with}
}

// GiveToCaller gives a folder and everything in it to the user who called sudo, or without sudo to the user of this
// process. Links are not followed.
func GiveToCaller(folder string) error {
	return caller(os.Getuid(), os.Getgid(), os.Getenv).take(folder)
}

// take makes the owner that of a folder and everything in it.
func (o owner) take(folder string) error {
	root, err := os.OpenRoot(folder)
	if err == nil {
		defer func() { _ = root.Close() }()
		err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return root.Lchown(path, o.user, o.group)
		})
	}
	if err != nil {
		return fmt.Errorf("giving %s to the user who called sudo: %w", folder, err)
	}
	return nil
}

// write makes a file that its owner alone reads. It is complete, or is not there, and never goes where a link leads.
func (o owner) write(path string, content []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }() // does nothing once the file is in its place
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chown(o.user, o.group); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
