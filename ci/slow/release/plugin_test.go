package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// testPlugin checks the format of the executable in each archive, that it has no debug information, and that the one
// for this computer runs and has an SBOM with its modules.
func (p published) testPlugin(t *testing.T) {
	for platform, check := range map[string]func(*testing.T, *os.File){
		"linux_amd64":   func(t *testing.T, f *os.File) { t.Helper(); checkELF(t, f, elf.EM_X86_64) },
		"linux_arm64":   func(t *testing.T, f *os.File) { t.Helper(); checkELF(t, f, elf.EM_AARCH64) },
		"darwin_amd64":  func(t *testing.T, f *os.File) { t.Helper(); checkMachO(t, f, macho.CpuAmd64) },
		"darwin_arm64":  func(t *testing.T, f *os.File) { t.Helper(); checkMachO(t, f, macho.CpuArm64) },
		"windows_amd64": checkPE,
	} {
		t.Run(platform, func(t *testing.T) {
			executable := p.unpackPlugin(t, platform)
			file, err := os.Open(executable)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			check(t, file)
			if platform != runtime.GOOS+"_"+runtime.GOARCH {
				return
			}
			output, err := exec.CommandContext(t.Context(), executable, "version").CombinedOutput()
			if err != nil || !strings.Contains(string(output), "kubectl-thalassa v"+p.version) {
				t.Errorf("version: %v\n%s", err, output)
			}
			name := "kubectl-thalassa-" + runtime.GOOS + "-" + runtime.GOARCH + ".spdx.json"
			contents, err := os.ReadFile(p.file(name))
			if err != nil || !strings.Contains(string(contents), "pkg:golang/k8s.io/client-go@") {
				t.Errorf("the SBOM: %v\n%s", err, contents)
			}
		})
	}
}

// unpackPlugin returns the path of the executable in an archive.
func (p published) unpackPlugin(t *testing.T, platform string) string {
	t.Helper()
	archive := p.file("kubectl-thalassa_" + p.version + "_" + platform)
	into := filepath.Join(t.TempDir(), "kubectl-thalassa")
	open := openTar
	if strings.HasPrefix(platform, "windows") {
		archive, open = archive+".zip", openZip
	} else {
		archive += ".tar.gz"
	}
	content := open(t, archive)
	file, err := os.OpenFile(into, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, content); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return into
}

// openTar returns the content of the executable in an archive.
func openTar(t *testing.T, archive string) io.Reader {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	compressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if err != nil {
			t.Fatalf("looking for the executable in %s: %v", archive, err)
		}
		if path.Base(header.Name) == "kubectl-thalassa" {
			return reader
		}
	}
}

// openZip is openTar of the other format.
func openZip(t *testing.T, archive string) io.Reader {
	t.Helper()
	reader, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	file, err := reader.Open("kubectl-thalassa.exe")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func checkELF(t *testing.T, executable io.ReaderAt, machine elf.Machine) {
	t.Helper()
	file, err := elf.NewFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	if file.Machine != machine || file.Section(".debug_info") != nil || file.Section(".zdebug_info") != nil {
		t.Errorf("it is for %s, want %s without debug information", file.Machine, machine)
	}
}

func checkMachO(t *testing.T, executable io.ReaderAt, cpu macho.Cpu) {
	t.Helper()
	file, err := macho.NewFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	if file.Cpu != cpu || file.Segment("__DWARF") != nil {
		t.Errorf("it is for %s, want %s without debug information", file.Cpu, cpu)
	}
}

func checkPE(t *testing.T, executable *os.File) {
	t.Helper()
	file, err := pe.NewFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	if file.Machine != pe.IMAGE_FILE_MACHINE_AMD64 || file.Section(".debug_info") != nil {
		t.Errorf("it is for machine %#x, want amd64 without debug information", file.Machine)
	}
}
