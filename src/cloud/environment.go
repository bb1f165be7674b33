package cloud

import (
	"io"
	"os"
	"path/filepath"
)

// Environment is what a process finds around it: the files that its flags and its configuration name, and environment
// variables. The zero value is that of this process. Another one is that of a process that runs elsewhere.
type Environment struct {
	// Files are the files; nil is the file system.
	Files Files
	// Variable returns the value of an environment variable, "" if it is not set; nil is os.Getenv.
	Variable func(name string) string
}

// Files are the files of a process. Paths are absolute, unless the file system resolves them. Errors about a file that
// does not exist wrap fs.ErrNotExist.
type Files interface {
	// Open opens a file to read it.
	Open(path string) (io.ReadCloser, error)
	// Resolve returns a path for a directory that leads to the same content until the directory is replaced as a whole.
	// The error is that the directory cannot be read.
	Resolve(directory string) (string, error)
}

// Open opens a file to read it.
func (e Environment) Open(path string) (io.ReadCloser, error) {
	if e.Files == nil {
		return os.Open(path)
	}
	return e.Files.Open(path)
}

// Resolve returns a path for a directory whose files are all of one moment. The kubelet replaces all files of a mounted
// Secret at once, by changing the link "..data". Following it once prevents that a new file is read with an old one.
func (e Environment) Resolve(directory string) (string, error) {
	if e.Files != nil {
		return e.Files.Resolve(directory)
	}
	if _, err := os.ReadDir(directory); err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(filepath.Join(directory, "..data")); err == nil {
		return target, nil
	}
	return directory, nil
}

// Getenv returns the value of an environment variable; "" if it is not set.
func (e Environment) Getenv(name string) string {
	if e.Variable == nil {
		return os.Getenv(name)
	}
	return e.Variable(name)
}

// Own reports whether the environment is that of this process, so that programs that a configuration names can be run.
func (e Environment) Own() bool { return e.Files == nil }
