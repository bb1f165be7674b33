package debian

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

// LockFile is the file of the repository with the pinned packages.
const LockFile = "tools/debian/packages.json"

// architectures are those that packages are pinned for.
func architectures() []string { return []string{"amd64", "arm64"} }

// names are those of the packages whose files are in images. A build fails if one is missing, and if nothing of one is
// needed.
func names() []string {
	return []string{
		"base-files", "e2fsprogs", "libblkid1", "libc6", "libcom-err2", "libext2fs2t64", "libinih1", "libmount1",
		"libpcre2-8-0", "libselinux1", "liburcu8t64", "libuuid1", "mount", "util-linux", "xfsprogs",
	}
}

// NodePrograms are the programs that k8s.io/mount-utils v0.37 starts to format, check, mount and grow the filesystems
// of volumes, those that fsck starts, and the configuration of mkfs. It can do without systemd-run. There is no
// fsck.xfs: it is a shell script that checks nothing, and fsck skips a filesystem of type xfs without it.
func NodePrograms() []string {
	return []string{
		"/usr/bin/mount", "/usr/bin/umount",
		"/usr/sbin/blkid", "/usr/sbin/blockdev",
		"/usr/sbin/fsck", "/usr/sbin/fsck.ext3", "/usr/sbin/fsck.ext4",
		"/usr/sbin/mkfs.ext3", "/usr/sbin/mkfs.ext4", "/etc/mke2fs.conf", "/usr/sbin/mkfs.xfs",
		"/usr/sbin/resize2fs", "/usr/sbin/xfs_growfs",
	}
}

// Files returns the wanted files of the packages that the repository at root pins, and what they need, sorted by path:
// the dynamic loader, shared libraries, symbolic links on the way, and of each package its copyright and its
// description. It fails if a file is in no package, and if nothing of a package is needed.
func Files(ctx context.Context, root, architecture string, wanted []string) ([]File, error) {
	lock, err := ReadLock(filepath.Join(root, LockFile))
	if err != nil {
		return nil, err
	}
	a, err := NewArchive()
	if err != nil {
		return nil, err
	}
	return a.files(ctx, lock[architecture], architecture, wanted)
}

// Pin writes the newest versions of all packages into the LockFile of the repository at root. It prints what it pinned.
func Pin(ctx context.Context, root string, progress io.Writer) error {
	a, err := NewArchive()
	if err != nil {
		return err
	}
	lock, err := a.Pin(ctx, architectures(), names())
	if err != nil {
		return err
	}
	for _, architecture := range architectures() {
		for _, p := range lock[architecture] {
			_, _ = fmt.Fprintf(progress, "%s: %s\n", architecture, p)
		}
	}
	return lock.Write(filepath.Join(root, LockFile))
}
