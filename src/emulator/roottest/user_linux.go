package roottest

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	// nobody is a user without any rights.
	nobody = 65534
	// unchanged leaves a user ID of a thread as it is.
	unchanged = ^uintptr(0)
)

// AsUser calls f as an ordinary user, also in a test that runs as root, and returns its error. Only the thread that
// calls f loses root: other goroutines that f starts keep it.
func AsUser(f func() error) error {
	dependOnUser()
	if os.Geteuid() != 0 {
		return f()
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		failed <- asNobody(f)
	}()
	return <-failed
}

// asNobody calls f in a thread that is locked to the goroutine. A thread that cannot become root again stays locked,
// and ends with the goroutine.
func asNobody(f func() error) error {
	if err := become(nobody); err != nil {
		return err
	}
	failed := f()
	if err := become(0); err != nil {
		return err
	}
	runtime.UnlockOSThread()
	return failed
}

// become changes the effective user of this thread alone: functions of package syscall change it for all threads.
func become(user uintptr) error {
	if _, _, failed := unix.RawSyscall(unix.SYS_SETRESUID, unchanged, user, unchanged); failed != 0 {
		return os.NewSyscallError("setresuid", failed)
	}
	return nil
}
