//go:build !unix

package statefile

import (
	"errors"
	"os"
)

// exclude refuses to lock a file, because another process could use it, too.
func exclude(*os.File) error { return errors.New("this system has no locks for files") }
