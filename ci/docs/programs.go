package docs

import (
	"fmt"
	"os"
	"path/filepath"

	helm "helm.sh/helm/v4/pkg/cmd"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"sigs.k8s.io/kustomize/kustomize/v5/commands"
)

// programs are the ones that this module has the sources of, by name. They read os.Args.
func programs() map[string]func() error {
	return map[string]func() error{
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

// Main runs kubectl, helm or kustomize if this process was started under its name, and returns its exit code. Otherwise
// it returns false, and the process is a test.
func Main() (code int, is bool) {
	run, is := programs()[filepath.Base(os.Args[0])]
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
func Install(folder string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this executable: %w", err)
	}
	for name := range programs() {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("making %s available: %w", name, err)
		}
	}
	return nil
}
