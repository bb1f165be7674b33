package release

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Export writes the files of a commit of the git clone at root, and no other, into a new folder below the temporary
// ones, which the caller removes. What lies about in the clone without being committed, secrets perhaps, is no part of
// a release.
func Export(ctx context.Context, root, revision string) (folder string, err error) {
	archive, err := git(ctx, root, "archive", "--format=tar", revision)
	if err != nil {
		return "", fmt.Errorf("reading commit %s: %w", revision, err)
	}
	folder, err = os.MkdirTemp("", "export-")
	if err != nil {
		return "", fmt.Errorf("reading commit %s: %w", revision, err)
	}
	if err := extract(archive, folder); err != nil {
		return "", errors.Join(fmt.Errorf("reading commit %s: %w", revision, err), os.RemoveAll(folder))
	}
	return folder, nil
}

// CheckTag requires the tag of a version to be on a revision in the git clone at root, so that who looks up the tag
// finds what the release was made from.
func CheckTag(ctx context.Context, root, version, revision string) error {
	commit, err := git(ctx, root, "rev-parse", "--quiet", "--verify", "refs/tags/"+version+"^{commit}")
	if err != nil {
		return fmt.Errorf("releasing %s: there is no tag %s in git; make it with git tag --annotate %s", version,
			version, version)
	}
	if on := strings.TrimSpace(string(commit)); on != revision {
		return fmt.Errorf("releasing %s: its tag is on %s, not on %s, which is checked out", version, on, revision)
	}
	return nil
}

// git runs a git command in a clone and returns what it prints.
func git(ctx context.Context, root string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", root}, arguments...)...)
	var trouble bytes.Buffer
	command.Stderr = &trouble
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", arguments[0], err, strings.TrimSpace(trouble.String()))
	}
	return output, nil
}

// extract writes the folders and files of an archive; git archives of this repository hold nothing else.
func extract(archive []byte, folder string) error {
	root, err := os.OpenRoot(folder) // out of which no name leads
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it only held a folder open
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractEntry(root, header, reader); err != nil {
			return err
		}
	}
}

func extractEntry(root *os.Root, header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeXGlobalHeader: // git notes the commit in it
		return nil
	case tar.TypeDir:
		return root.MkdirAll(filepath.FromSlash(header.Name), 0o755)
	case tar.TypeReg:
		to, err := root.OpenFile(filepath.FromSlash(header.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY,
			header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(to, content)
		return errors.Join(err, to.Close())
	}
	return fmt.Errorf("%s is neither a file nor a folder", header.Name)
}
