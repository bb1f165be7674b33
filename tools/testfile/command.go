//go:build linux

package testfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Usage describes the commands of Run.
const Usage = "write PATH SIZE | sum PATH SIZE | space PATH | append PATH | check PATH"

// errUsage is the error of a wrong command line.
var errUsage = errors.New("usage: guest file " + Usage)

// Run carries out a command, and prints its result as one line of words.
func Run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	switch command, path := args[0], args[1]; {
	case command == "write" && len(args) == 3:
		return withSize(out, args[2], func(size int64) (string, error) { return Write(path, size) })
	case command == "sum" && len(args) == 3:
		return withSize(out, args[2], func(size int64) (string, error) { return Sum(path, size) })
	case command == "space" && len(args) == 2:
		size, filesystem, err := Space(path)
		return printed(out, fmt.Sprintf("%d %#x", size, filesystem), err)
	case command == "append" && len(args) == 2:
		return Append(ctx, path)
	case command == "check" && len(args) == 2:
		records, err := Check(path)
		return printed(out, strconv.Itoa(records), err)
	}
	return errUsage
}

// withSize prints the result of a command for which a size in bytes is given.
func withSize(out io.Writer, text string, do func(size int64) (string, error)) error {
	size, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the size: %w", err)
	}
	result, err := do(size)
	return printed(out, result, err)
}

func printed(out io.Writer, result string, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(out, result)
	}
	return err
}
