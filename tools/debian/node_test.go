package debian

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/roottest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo/repotest"
)

// filesOf returns the files of the node's programs for an architecture, by path.
func filesOf(t *testing.T, architecture string) map[string]File {
	t.Helper()
	files, err := Files(t.Context(), repotest.Root(t, LockFile), architecture, NodePrograms())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]File{}
	for _, file := range files {
		found[file.Path] = file
	}
	return found
}

// TestFilesAreComplete: every program and library finds its loader and its libraries in the image.
func TestFilesAreComplete(t *testing.T) {
	tier.NeedFull(t)
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	folders := map[string]string{"amd64": "/usr/lib/x86_64-linux-gnu", "arm64": "/usr/lib/aarch64-linux-gnu"}
	for _, architecture := range architectures() {
		t.Run(architecture, func(t *testing.T) {
			files := filesOf(t, architecture)
			binaries := 0
			for name, file := range files {
				if file.Mode&0o7000 != 0 {
					t.Errorf("%s has the mode %s", name, file.Mode)
				}
				binary, err := elf.NewFile(strings.NewReader(file.Content))
				if err != nil {
					continue
				}
				binaries++
				if binary.Machine != machines[architecture] {
					t.Errorf("%s is for %s", name, binary.Machine)
				}
				for _, need := range dynamic(t, binary, folders[architecture]) {
					if target := resolved(files, need); !files[target].Mode.IsRegular() || files[target].Content == "" {
						t.Errorf("%s needs %s, which is not there", name, need)
					}
				}
			}
			if want := 22; binaries != want {
				t.Errorf("%d programs and libraries, want %d", binaries, want)
			}
			for _, want := range append(NodePrograms(), "/sbin/mkfs.ext4", "/bin/mount", "/etc/os-release",
				"/usr/share/common-licenses/GPL-2") {
				if files[resolved(files, want)].Content == "" {
					t.Errorf("%s is not there", want)
				}
			}
			for _, name := range names() {
				if files["/usr/share/doc/"+name+"/copyright"].Content == "" {
					t.Errorf("there is no copyright of %s", name)
				}
			}
		})
	}
}

// dynamic are the paths of the loader and of the libraries that a program or library names.
func dynamic(t *testing.T, binary *elf.File, folder string) (paths []string) {
	t.Helper()
	names, err := binary.DynString(elf.DT_NEEDED)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		paths = append(paths, path.Join(folder, name))
	}
	for _, segment := range binary.Progs {
		if segment.Type == elf.PT_INTERP {
			loader := make([]byte, segment.Filesz-1)
			if _, err := segment.ReadAt(loader, 0); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, string(loader))
		}
	}
	return paths
}

// resolved is a path without the symbolic links in it.
func resolved(files map[string]File, name string) string {
	parts, at := strings.Split(strings.TrimPrefix(name, "/"), "/"), "/"
	for i, part := range parts {
		at = path.Join(at, part)
		if file := files[at]; file.Mode&fs.ModeSymlink != 0 {
			target := file.Content
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(at), target)
			}
			return resolved(files, path.Join(append([]string{target}, parts[i+1:]...)...))
		}
	}
	return at
}

// TestAllPackagesArePinned: the lock has the packages that a build wants, for each architecture, and no others.
func TestAllPackagesArePinned(t *testing.T) {
	lock, err := ReadLock(checkout.Path(t, LockFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(lock) != len(architectures()) {
		t.Errorf("%d architectures, want %d", len(lock), len(architectures()))
	}
	for _, architecture := range architectures() {
		var pinned []string
		for _, p := range lock[architecture] {
			pinned = append(pinned, p.Name)
		}
		if !slices.Equal(pinned, names()) {
			t.Errorf("%s: %v, want %v; make pin-packages writes them", architecture, pinned, names())
		}
	}
}

// TestFilesystemsCanBeMade: a volume of every filesystem that the driver knows can be formatted.
func TestFilesystemsCanBeMade(t *testing.T) {
	for _, filesystem := range volume.Filesystems() {
		if want := "/usr/sbin/mkfs." + filesystem; !slices.Contains(NodePrograms(), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestLibraryIsMissing: what a program needs must be in a package.
func TestLibraryIsMissing(t *testing.T) {
	lock, err := ReadLock(checkout.Path(t, LockFile))
	if err != nil {
		t.Fatal(err)
	}
	for architecture := range lock {
		lock[architecture] = slices.DeleteFunc(lock[architecture], func(p Package) bool {
			return p.Name == "libuuid1"
		})
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(LockFile)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := lock.Write(filepath.Join(root, LockFile)); err != nil {
		t.Fatal(err)
	}
	_, err = Files(t.Context(), root, "arm64", NodePrograms())
	if err == nil || !strings.Contains(err.Error(), "libuuid.so.1 is in no pinned package") {
		t.Errorf("error %v", err)
	}
	if _, err := Files(t.Context(), t.TempDir(), "arm64", NodePrograms()); err == nil {
		t.Error("no error without a lock")
	}
}

// machine runs programs from an unpacked image.
type machine struct {
	folder string
	// rooted says that the programs run in the folder as their root, which root alone can do. For others the dynamic
	// loader of the image starts them.
	rooted bool
}

// unpacked writes the files of Debian for this machine into a folder.
func unpacked(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, file := range filesOf(t, runtime.GOARCH) {
		target := filepath.Join(folder, file.Path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if file.Mode&fs.ModeSymlink != 0 {
			err = os.Symlink(file.Content, target)
		} else {
			err = os.WriteFile(target, []byte(file.Content), file.Mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// command starts a program, which may be named by any of its paths. Words that begin with "@" are files of the folder.
func (m machine) command(t *testing.T, program string, arguments ...string) *exec.Cmd {
	t.Helper()
	prefix := m.folder
	if m.rooted {
		prefix = ""
	}
	for i, argument := range arguments {
		if name, found := strings.CutPrefix(argument, "@"); found {
			arguments[i] = prefix + "/" + name
		}
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env = []string{"PATH=/usr/sbin:/usr/bin", "MKE2FS_CONFIG=" + prefix + "/etc/mke2fs.conf"}
	if m.rooted {
		command.Dir, command.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: m.folder}
		return command
	}
	library := filepath.Join(m.folder, "usr/lib/x86_64-linux-gnu")
	loader := filepath.Join(library, "ld-linux-x86-64.so.2")
	if runtime.GOARCH == "arm64" {
		library = filepath.Join(m.folder, "usr/lib/aarch64-linux-gnu")
		loader = filepath.Join(library, "ld-linux-aarch64.so.1")
	}
	command.Path = loader
	command.Args = append([]string{loader, "--inhibit-cache", "--library-path", library,
		filepath.Join(m.folder, program)}, arguments...)
	return command
}

// run requires a program to succeed, and its output to contain a text.
func (m machine) run(t *testing.T, want, program string, arguments ...string) {
	t.Helper()
	output, err := m.command(t, program, arguments...).CombinedOutput()
	if err != nil || !bytes.Contains(output, []byte(want)) {
		t.Errorf("%s %v: %v, want %q in:\n%s", program, arguments, err, want, output)
	}
}

// disk makes an empty file of a size, or makes one larger.
func (m machine) disk(t *testing.T, name string, megabytes int64) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(m.folder, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(megabytes << 20); err != nil {
		t.Fatal(err)
	}
}

// TestProgramsRun: the programs work with the loader and the libraries of the image, for everyone.
func TestProgramsRun(t *testing.T) { works(t, machine{folder: unpacked(t)}) }

// TestProgramsRunInTheirRoot: nothing that they need is outside of the image.
func TestProgramsRunInTheirRoot(t *testing.T) {
	roottest.Need(t)
	m := machine{folder: unpacked(t), rooted: true}
	// In place of what a container's runtime mounts: nothing is mounted here.
	if err := os.MkdirAll(filepath.Join(m.folder, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.folder, "proc", "mounts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	works(t, m)
	// fsck starts fsck.ext4, and does without fsck.xfs. mount-utils calls it like this.
	m.run(t, "ext4: clean", "/sbin/fsck", "-a", "@ext4")
	m.run(t, "", "/sbin/fsck", "-a", "@xfs")
}

func works(t *testing.T, m machine) {
	t.Helper()
	for _, program := range []string{"/usr/bin/mount", "/bin/umount", "/sbin/blkid", "/sbin/blockdev", "/sbin/fsck"} {
		m.run(t, "util-linux", program, "-V")
	}
	for _, program := range []string{"/sbin/mkfs.ext3", "/sbin/mkfs.ext4", "/sbin/fsck.ext3", "/sbin/fsck.ext4"} {
		m.run(t, "EXT2FS Library version", program, "-V")
	}
	for _, program := range []string{"/sbin/mkfs.xfs", "/sbin/xfs_growfs"} {
		m.run(t, "version 6.", program, "-V")
	}
	m.disk(t, "ext4", 64)
	m.run(t, "Creating journal", "/sbin/mkfs.ext4", "-F", "-m0", "@ext4")
	m.run(t, "TYPE=ext4", "/sbin/blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", "@ext4")
	m.disk(t, "ext4", 128)
	m.run(t, "is now 131072 (1k) blocks long", "/sbin/resize2fs", "@ext4")
	m.run(t, "ext4: clean", "/sbin/fsck.ext4", "-a", "@ext4")
	m.disk(t, "xfs", 512)
	m.run(t, "naming   =version 2", "/sbin/mkfs.xfs", "-f", "@xfs")
	m.run(t, "TYPE=xfs", "/sbin/blkid", "-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", "@xfs")
	// A file is no block device, and not mounted: the programs say so.
	for program, want := range map[string]string{"/sbin/blockdev": "ioctl", "/sbin/xfs_growfs": "mounted XFS"} {
		arguments := []string{"@xfs"}
		if program == "/sbin/blockdev" {
			arguments = []string{"--getro", "@xfs"}
		}
		if output, err := m.command(t, program, arguments...).CombinedOutput(); err == nil ||
			!bytes.Contains(output, []byte(want)) {
			t.Errorf("%s %v: %v, want %q in:\n%s", program, arguments, err, want, output)
		}
	}
}
