// Command image builds the container images of this project, or uploads what it has built. `make image` and `make push`
// call it and say which sources these are.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/debian"
	"github.com/thalassa-cloud/thalassa-ccm/tools/image"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/repo"
)

func main() {
	version := flag.String("version", "devel", "version, as `v1.2.3`")
	revision := flag.String("revision", "", "`commit` in git")
	committed := flag.String("committed", "", "`time` of the commit, RFC 3339")
	push := flag.String("push", "", "instead of building, upload to a `registry`, such as registry.example.com/path")
	pin := flag.Bool("pin", false, "instead of building, pin the newest packages of Debian that images contain")
	flag.Parse()
	os.Exit(program.Run("image", os.Stderr, func(ctx context.Context) error {
		root, err := repo.Root()
		if err != nil {
			return err
		}
		folder := filepath.Join(root, "dist", "images")
		if *pin {
			return debian.Pin(ctx, root, os.Stdout)
		}
		if *push != "" {
			return image.PushAll(ctx, folder, *push, *version, os.Stdout)
		}
		stamp := image.Stamp{Version: *version, Revision: *revision}
		if *committed != "" {
			if stamp.Committed, err = time.Parse(time.RFC3339, *committed); err != nil {
				return fmt.Errorf("reading --committed=%q: want a time like 2026-11-21T10:00:00Z: %w", *committed, err)
			}
		}
		return image.Make(ctx, root, folder, stamp, os.Stdout)
	}))
}
