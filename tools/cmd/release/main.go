// Command release makes, publishes, verifies and mirrors releases. `make release`, `make publish` and `make
// verify-release` call it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/release"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
	"github.com/thalassa-cloud/thalassa-ccm/tools/signature"
)

func main() {
	os.Exit(program.Run("release", os.Stderr, func(ctx context.Context) error { return command().ExecuteContext(ctx) }))
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use: "release", Short: "Make, publish, verify and mirror releases of thalassa-ccm",
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(makeCommand(), publishCommand(), verifyCommand(), mirrorCommand())
	return root
}

// folderOf is where a release is made.
func folderOf(version string) (root, folder string, err error) {
	if root, err = repo.Root(); err != nil {
		return "", "", err
	}
	return root, filepath.Join(root, "dist", "release", version), nil
}

func makeCommand() *cobra.Command {
	var source release.Source
	var committed string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "make", Short: "build all artifacts of a release in dist/release/VERSION", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if committed != "" { // outside git it is not known, which Make has words for
				if source.Committed, err = time.Parse(time.RFC3339, committed); err != nil {
					return fmt.Errorf("reading --committed=%q: want the time of the commit, like "+
						"2026-11-21T10:00:00Z: %w", committed, err)
				}
			}
			return makeRelease(cmd, source, dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false,
		"make it without a key and without a tag in git; it cannot be published")
	cmd.Flags().StringVar(&source.Version, "version", "", "version, like v1.2.3")
	cmd.Flags().StringVar(&source.Revision, "revision", "", "commit in git")
	cmd.Flags().StringVar(&committed, "committed", "", "time of the commit, RFC 3339")
	return cmd
}

// makeRelease makes a release of the commit, not of what else lies about in the clone.
func makeRelease(cmd *cobra.Command, source release.Source, dryRun bool) error {
	root, folder, err := folderOf(source.Version)
	if err != nil {
		return err
	}
	if err := source.Check(); err != nil {
		return fmt.Errorf("releasing %s: %w", source.Version, err)
	}
	key, err := signingKey(dryRun)
	if err != nil {
		return err
	}
	if !dryRun {
		if err := release.CheckTag(cmd.Context(), root, source.Version, source.Revision); err != nil {
			return err
		}
	}
	if source.Root, err = release.Export(cmd.Context(), root, source.Revision); err != nil {
		return fmt.Errorf("releasing %s: %w", source.Version, err)
	}
	defer os.RemoveAll(source.Root)
	return release.Make(cmd.Context(), source, folder, key, cmd.OutOrStdout())
}

// signingKey is the key that the environment names, nil for a dry run. The compilers that are started later do not get
// to see it.
func signingKey(dryRun bool) (*signature.Key, error) {
	if dryRun {
		return nil, nil //nolint:nilnil // no key is what Make takes for a dry run
	}
	key, err := signature.KeyFrom(os.Getenv)
	if errors.Is(err, signature.ErrNoKey) {
		return nil, fmt.Errorf("%w. To try it without a key: make release DRY_RUN=1", err)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{signature.EnvKey, signature.EnvKeyFile, signature.EnvPassword} {
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("unsetting %s: %w", name, err)
		}
	}
	return &key, nil
}

func publishCommand() *cobra.Command {
	var version, registry, folder string
	cmd := &cobra.Command{Use: "publish",
		Short: "upload dist/release/VERSION, or a folder that mirror made, to a registry", Args: cobra.NoArgs}
	key := keyFlag(cmd)
	cmd.Flags().StringVar(&version, "version", "", "version, like v1.2.3")
	cmd.Flags().StringVar(&registry, "registry", release.Registry, "registry to upload to")
	cmd.Flags().StringVar(&folder, "folder", "", "folder with the release (default dist/release/VERSION in the clone)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if folder == "" {
			if _, folder, err = folderOf(version); err != nil {
				return err
			}
		}
		public, err := key()
		if err != nil {
			return err
		}
		return release.Publish(cmd.Context(), folder, artifact.At(registry), public, cmd.OutOrStdout())
	}
	return cmd
}

// keyFlag adds a flag for the file with the public key.
func keyFlag(cmd *cobra.Command) func() (signature.PublicKey, error) {
	file := cmd.Flags().String("key", "cosign.pub", "file with the public key")
	return func() (signature.PublicKey, error) {
		content, err := os.ReadFile(*file)
		if err != nil {
			return signature.PublicKey{}, fmt.Errorf("reading --key: %w", err)
		}
		return signature.ParsePublicKey(content)
	}
}

func verifyCommand() *cobra.Command {
	var version, registry string
	cmd := &cobra.Command{Use: "verify",
		Short: "check whether a release in a registry is complete, unchanged and signed", Args: cobra.NoArgs}
	key := keyFlag(cmd)
	cmd.Flags().StringVar(&version, "version", "", "version, like v1.2.3")
	cmd.Flags().StringVar(&registry, "registry", release.Registry, "registry it is in")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		public, err := key()
		if err != nil {
			return err
		}
		return release.Verify(cmd.Context(), artifact.At(registry), version, public, cmd.OutOrStdout())
	}
	return cmd
}

func mirrorCommand() *cobra.Command {
	var version, from, to, folder string
	cmd := &cobra.Command{Use: "mirror",
		Short: "copy a release from one registry to another, or into a folder, by digest", Args: cobra.NoArgs}
	key := keyFlag(cmd)
	cmd.Flags().StringVar(&version, "version", "", "version, like v1.2.3")
	cmd.Flags().StringVar(&from, "from", release.Registry, "registry it is in")
	cmd.Flags().StringVar(&to, "to", "", "registry to copy it to")
	cmd.Flags().StringVar(&folder, "to-folder", "",
		"folder to copy it to instead, which must not exist; publish --folder uploads it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		public, err := key()
		if err != nil {
			return err
		}
		if folder != "" {
			return release.Save(cmd.Context(), artifact.At(from), version, public, folder, cmd.OutOrStdout())
		}
		return release.Mirror(cmd.Context(), artifact.At(from), artifact.At(to), version, public, cmd.OutOrStdout())
	}
	cmd.MarkFlagsOneRequired("to", "to-folder")
	cmd.MarkFlagsMutuallyExclusive("to", "to-folder")
	return cmd
}
