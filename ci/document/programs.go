package document

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	helm "helm.sh/helm/v4/pkg/cmd"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"sigs.k8s.io/kustomize/kustomize/v5/commands"
)

// Program is what a command line starts. It reads os.Args.
type Program func() error

// programs are the ones that this module has the sources of, by name.
func programs() map[string]Program {
	return map[string]Program{
		"kubectl":   func() error { return kubectl.NewDefaultKubectlCommand().Execute() },
		"kustomize": func() error { return commands.NewDefaultCommand().Execute() },
		"helm": func() error {
			command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
			if err != nil {
				return err
			}
			return command.Execute()
		},
	}
}

// Main runs kubectl, helm, kustomize or one of the further programs if this process was started under its name, and
// returns its exit code. Otherwise it returns false, and the process is a test.
func Main(further map[string]Program) (code int, is bool) {
	all := programs()
	maps.Copy(all, further)
	run, is := all[filepath.Base(os.Args[0])]
	if !is {
		return 0, false
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1, true
	}
	return 0, true
}

// Install makes the programs of Main available in a folder, for PATH: each is this executable under its name.
func Install(folder string, further ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this executable: %w", err)
	}
	for _, name := range append(slices.Collect(maps.Keys(programs())), further...) {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("making %s available: %w", name, err)
		}
	}
	// What a command of a document does as root it does to the files of its test.
	if err := os.WriteFile(filepath.Join(folder, "sudo"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o700); err != nil {
		return fmt.Errorf("making sudo available: %w", err)
	}
	return nil
}
