package testrun

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Go compares the times of files below a module that tests open, and of the entries of folders that they list. A
// clone gives each file the time at which it was written, so nothing would be reused in a new clone.

// settle gives each file that equals the one of HEAD a time that depends on its content only, and each folder that
// has exactly the files of HEAD. Other files and folders keep their times, and so do those that have changed since it
// began, or that git was told not to look at. Outside of a git repository it does nothing.
func settle(ctx context.Context, root string) error {
	begin := time.Now()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return nil //nolint:nilerr // a copy of the sources without a history
	}
	changed, err := git(ctx, root, "diff", "--name-only", "-z", "--no-renames", "HEAD")
	if err != nil {
		return err
	}
	other, err := git(ctx, root, "ls-files", "-z", "--others")
	if err != nil {
		return err
	}
	known, err := git(ctx, root, "ls-files", "-z", "-v")
	if err != nil {
		return err
	}
	for _, line := range known {
		// With S (skip-worktree) and lower case (assume-unchanged), git does not compare the file.
		if tag, name, _ := strings.Cut(line, " "); tag != "H" {
			other = append(other, name)
		}
	}
	unlike := map[string]bool{}
	for _, name := range append(changed, other...) {
		for unlike[name] = true; name != "."; unlike[name] = true {
			name = filepath.Dir(name)
		}
	}
	entries, err := git(ctx, root, "ls-tree", "-r", "-t", "-z", "HEAD")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		about, name, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(about); len(fields) == 3 && !unlike[name] && fields[0] != "120000" {
			if err := setTime(filepath.Join(root, filepath.FromSlash(name)), fields[2], begin); err != nil {
				return err
			}
		}
	}
	return nil
}

// setTime sets the time of a file by the identity of its content: a second of the years 2000 to 2017. A file that is
// newer than begin keeps its time.
func setTime(file, identity string, begin time.Time) error {
	sum, err := hex.DecodeString(identity)
	if err != nil || len(sum) < 4 {
		return fmt.Errorf("setting the time of %q: git names its content %q", file, identity)
	}
	const bits = 29
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).
		Add(time.Duration(binary.BigEndian.Uint32(sum)>>(32-bits)) * time.Second)
	info, err := os.Lstat(file)
	if err != nil || info.ModTime().Equal(at) || info.ModTime().After(begin) {
		return err
	}
	return os.Chtimes(file, time.Time{}, at)
}

// git runs a command of git in the repository at root, and returns the parts of its output that zero bytes separate.
func git(ctx context.Context, root string, arguments ...string) ([]string, error) {
	// As root, git refuses the repository of another user unless it is told not to, and would write its index.
	command := exec.CommandContext(ctx, "git",
		append([]string{"--no-optional-locks", "-c", "safe.directory=" + root}, arguments...)...)
	command.Dir = root
	var trouble bytes.Buffer
	command.Stderr = &trouble
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("asking git which files equal HEAD: git %s: %w\n%s", arguments[0], err, trouble.String())
	}
	text := strings.TrimSuffix(string(output), "\x00")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\x00"), nil
}
