//go:build linux

package testfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"time"
)

// pause is the time between two records.
const pause = 10 * time.Millisecond

// recordOf is a line of a fixed length with a number and a checksum.
func recordOf(number int) string {
	text := fmt.Sprintf("%012d", number)
	return fmt.Sprintf("%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// Append appends numbered records to a file until the context ends, and waits for each until it is on the disk. It
// goes on after the last complete record of a file that is there.
func Append(ctx context.Context, path string) (err error) {
	last, err := Check(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Truncate(int64(last * len(recordOf(last)))); err != nil {
		return fmt.Errorf("removing the incomplete record of %s: %w", path, err)
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for number := last + 1; ; number++ {
		_, err := io.WriteString(file, recordOf(number))
		if err == nil {
			err = file.Sync()
		}
		if err != nil {
			return fmt.Errorf("appending record %d to %s: %w", number, path, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Check reads a file of Append and returns the number of its records. The last one may be incomplete, because it is
// being written. The error says which of the others is missing or damaged.
func Check(path string) (records int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	for reader := bufio.NewReader(file); ; records++ {
		line, err := reader.ReadString('\n')
		want := recordOf(records + 1)
		switch {
		case errors.Is(err, io.EOF) && strings.HasPrefix(want, line):
			return records, nil
		case err != nil && !errors.Is(err, io.EOF):
			return records, fmt.Errorf("reading %s: %w", path, err)
		case line != want:
			return records, fmt.Errorf("%s has %q where record %d should be", path, line, records+1)
		}
	}
}
