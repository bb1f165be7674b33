// Command controlplane builds Kubernetes itself, and IronCore, for tests and the demo, and says how far it is: the
// first time takes minutes. For tests it also runs a control plane that all of them share.
//
//	controlplane build lab
//	controlplane build sidecars
//	controlplane build ironcore
//	controlplane run --dir=FOLDER
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/checkout"
	"github.com/thalassa-cloud/thalassa-ccm/tools/controlplane"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testrun"
)

// errUsage is the error for a command line that is none of those above.
var errUsage = errors.New("use one of: controlplane build lab, controlplane build sidecars, " +
	"controlplane build ironcore, controlplane run --dir=FOLDER")

func main() {
	os.Exit(program.Run("controlplane", os.Stderr, func(ctx context.Context) error { return run(ctx, os.Args[1:]) }))
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 {
		return errUsage
	}
	dir, isDir := strings.CutPrefix(arguments[1], "--dir=")
	switch {
	case arguments[0] == "build" && arguments[1] == "lab":
		return build(ctx, controlplane.Build)
	case arguments[0] == "build" && arguments[1] == "sidecars":
		return build(ctx, controlplane.BuildSidecars)
	case arguments[0] == "build" && arguments[1] == "ironcore":
		return build(ctx, controlplane.BuildIronCore)
	case arguments[0] == "run" && isDir:
		return serve(ctx, dir)
	}
	return errUsage
}

// build builds in this repository, into bin/lab, bin/sidecars or bin/ironcore.
func build(ctx context.Context, into func(context.Context, string, func(string)) (string, error)) error {
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	_, err = into(ctx, root, func(progress string) { fmt.Println(progress) })
	return err
}

// serve runs a control plane until the context ends, or one of its components does. What tests need of it is in its
// folder. It says when it is ready.
func serve(ctx context.Context, dir string) error {
	plane, err := controlplane.Start(ctx, controlplane.Options{Dir: dir,
		Progress: func(progress string) { fmt.Println(progress) }})
	if err != nil {
		return err
	}
	fmt.Print(testrun.ReadyLine)
	looks := time.NewTicker(time.Second)
	defer looks.Stop()
	for {
		select {
		case <-ctx.Done():
			return plane.Stop()
		case <-looks.C:
			if err := plane.Err(); err != nil {
				return errors.Join(err, plane.Stop())
			}
		}
	}
}
