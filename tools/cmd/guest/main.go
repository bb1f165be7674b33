//go:build linux

// Command guest is what runs inside of the lab's machines and pods: `guest machine FOLDER NAME DISKS` is the first
// process of a machine, `guest pause` that of a pod, and `guest serve` the server of end-to-end tests; `guest get URL`
// prints a page, as curl does, `guest resolve NAME` what a name stands for, and `guest file` writes and reads the files
// of volumes. Outside of them, `guest reap FOLDER` removes what is left of a cluster that was killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/tools/lookup"
	"github.com/thalassa-cloud/thalassa-ccm/tools/machine"
	"github.com/thalassa-cloud/thalassa-ccm/tools/program"
	"github.com/thalassa-cloud/thalassa-ccm/tools/reaper"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testfile"
	"github.com/thalassa-cloud/thalassa-ccm/tools/testserver"
)

// endLimit bounds how long requests may take that were there when the server was asked to end.
const endLimit = time.Minute

// answerLimit bounds how long a server may take to answer.
const answerLimit = 5 * time.Second

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		args = []string{""}
	}
	switch args[0] {
	case "machine":
		if len(args) == 4 {
			return exitCode(machine.Run(args[1], args[2], args[3]))
		}
	case "reap":
		if len(args) == 2 {
			return exitCode(reaper.Reap(args[1]))
		}
	case "get":
		if len(args) == 2 {
			return exitCode(get(args[1]))
		}
	case "resolve":
		if len(args) == 2 {
			return exitCode(resolve(args[1]))
		}
	case "pause":
		return exitCode(machine.Pause(os.Stdout))
	case "file":
		return program.Run("guest", os.Stderr, func(ctx context.Context) error {
			return testfile.Run(ctx, os.Stdout, args[1:])
		})
	case "serve":
		return program.Run("guest", os.Stderr, func(ctx context.Context) error { return serve(ctx, args[1:]) })
	}
	fmt.Fprintln(os.Stderr, "usage: guest machine FOLDER NAME DISKS | guest pause | guest reap FOLDER | "+
		"guest serve [flags] | guest get URL | guest resolve NAME | guest file "+testfile.Usage)
	return 2
}

// exitCode prints an error, and returns the code with which the program ends.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "guest:", err)
	return 1
}

func get(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	return testserver.Get(ctx, url, os.Stdout)
}

func resolve(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	return lookup.Print(ctx, net.DefaultResolver, name, os.Stdout)
}

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("guest serve", flag.ContinueOnError)
	web := flags.String("http", ":8080", "`address` of HTTP")
	behind := flags.String("proxied", ":8081", "`address` of HTTP behind a PROXY protocol header")
	datagrams := flags.String("udp", ":8080", "`address` of UDP")
	drain := flags.Duration("drain", 0, "`time` for which new requests are served after a SIGTERM")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options, err := listen(ctx, *web, *behind, *datagrams)
	if err != nil {
		return err
	}
	options.Drain = *drain
	server := testserver.Start(options)
	fmt.Printf("serves %s: HTTP %s, behind a PROXY protocol header %s, UDP %s\n", options.Host, *web, *behind,
		*datagrams)
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit+*drain)
	defer cancel()
	return server.End(ending)
}

func listen(ctx context.Context, web, behind, datagrams string) (o testserver.Options, err error) {
	var problems [4]error
	var config net.ListenConfig
	o.Host, problems[0] = os.Hostname()
	o.HTTP, problems[1] = config.Listen(ctx, "tcp", web)
	o.Proxied, problems[2] = config.Listen(ctx, "tcp", behind)
	o.Datagrams, problems[3] = config.ListenPacket(ctx, "udp", datagrams)
	return o, errors.Join(problems[:]...)
}
