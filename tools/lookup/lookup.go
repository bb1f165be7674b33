// Package lookup asks name servers, and prints what they answer.
//
//	err := lookup.Print(ctx, net.DefaultResolver, "web.default", os.Stdout)
package lookup

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

// Print writes what a name stands for, one line each, in their order: addresses of both families, or as "PORT HOST" the
// SRV records of a name that begins with an underscore. A name that does not exist is an error with "no such host".
func Print(ctx context.Context, resolver *net.Resolver, name string, to io.Writer) error {
	find := resolver.LookupHost
	if strings.HasPrefix(name, "_") {
		find = servers(resolver)
	}
	lines, err := find(ctx, name)
	if err != nil {
		return fmt.Errorf("resolving %s: %w", name, err)
	}
	slices.Sort(lines)
	_, err = fmt.Fprintln(to, strings.Join(lines, "\n"))
	return err
}

// servers returns a function that describes the SRV records of a name.
func servers(resolver *net.Resolver) func(ctx context.Context, name string) ([]string, error) {
	return func(ctx context.Context, name string) ([]string, error) {
		_, records, err := resolver.LookupSRV(ctx, "", "", name)
		var lines []string
		for _, record := range records {
			lines = append(lines, fmt.Sprintf("%d %s", record.Port, record.Target))
		}
		return lines, err
	}
}
