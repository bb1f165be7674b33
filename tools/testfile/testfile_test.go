//go:build linux

package testfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runs carries out a command and returns what it prints.
func runs(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	if err := Run(t.Context(), &out, args); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(out.String())
}

func TestWrittenContentHasTheSameChecksum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content")
	written := runs(t, "write", path, "100000")
	if read := runs(t, "sum", path, "100000"); read != written || len(written) != 64 {
		t.Errorf("written %s, read %s", written, read)
	}
	if other := runs(t, "write", path, "100000"); other == written {
		t.Error("the content is not random")
	}
	if _, err := Sum(path, 100001); err == nil {
		t.Error("a file that is too short has a checksum")
	}
}

func TestSpace(t *testing.T) {
	var size, filesystem int64
	if _, err := fmt.Sscanf(runs(t, "space", t.TempDir()), "%d %v", &size, &filesystem); err != nil || size <= 0 {
		t.Errorf("size %d, type %#x: %v", size, filesystem, err)
	}
}

// appendTo appends records until there are a few more.
func appendTo(t *testing.T, path string) {
	t.Helper()
	before, err := Check(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Append(ctx, path) }()
	for records := before; records < before+3; {
		if records, err = Check(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	appendTo(t, path)
	appendTo(t, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		content string
		intact  bool
	}{
		"the last record is being written": {string(content) + recordOf(1)[:1], true},
		"a record is missing":              {strings.Replace(string(content), recordOf(2), "", 1), false},
		"a record is damaged":              {strings.Replace(string(content), recordOf(2), recordOf(9), 1), false},
		"something else follows":           {string(content) + "\x00\x00", false},
	} {
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if records, err := Check(path); (err == nil) != test.intact {
			t.Errorf("%s: %d records and %v", name, records, err)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"write"}, {"write", "x"}, {"write", "x", "much"}, {"erase", "x"}} {
		if err := Run(t.Context(), nil, args); err == nil {
			t.Errorf("%v is a command", args)
		}
	}
}
