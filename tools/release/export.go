package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// Export writes the files of a commit of the git clone at root, and no other, into a new folder below the temporary
// ones, which the caller removes. What lies about in the clone without being committed, secrets perhaps, is no part of
// a release.
func Export(ctx context.Context, root, revision string) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "export-"); err != nil {
		return "", fmt.Errorf("reading commit %s: %w", revision, err)
	}
	if err := export(ctx, root, revision, folder); err != nil {
		return "", errors.Join(fmt.Errorf("reading commit %s: %w", revision, err), os.RemoveAll(folder))
	}
	return folder, nil
}

// export leaves the clone's own index alone.
func export(ctx context.Context, root, revision, folder string) error {
	index := "GIT_INDEX_FILE=" + folder + ".index"
	defer os.RemoveAll(folder + ".index")
	if _, err := git(ctx, root, index, "read-tree", revision); err != nil {
		return err
	}
	if _, err := git(ctx, root, index, "checkout-index", "--all", "--prefix="+folder+"/"); err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !entry.Type().IsRegular() {
			err = fmt.Errorf("%s is neither a file nor a folder", name)
		}
		return err
	})
}

// CheckTag requires the tag of a version to be on a revision in the git clone at root, so that users who check out the
// tag finds what the release was made from.
func CheckTag(ctx context.Context, root, version, revision string) error {
	commit, err := git(ctx, root, "", "rev-parse", "--quiet", "--verify", "refs/tags/"+version+"^{commit}")
	if err != nil {
		return fmt.Errorf("releasing %s: there is no tag %s in git; make it with git tag --annotate %s", version,
			version, version)
	}
	if on := strings.TrimSpace(string(commit)); on != revision {
		return fmt.Errorf("releasing %s: its tag is on %s, not on %s, which is checked out", version, on, revision)
	}
	return nil
}

// git runs a git command in a clone, with a variable in its environment unless that is empty, and returns what it
// prints.
func git(ctx context.Context, root, variable string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", root}, arguments...)...)
	command.Env = append(os.Environ(), variable)
	var trouble bytes.Buffer
	command.Stderr = &trouble
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", arguments[0], err, strings.TrimSpace(trouble.String()))
	}
	return output, nil
}
