package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// shutdownGrace is how long requests in flight may take when the emulator stops.
const shutdownGrace = 5 * time.Second

// Ready is the content of the ready file: how to reach the emulator, and the
// first objects of its seed. What does not exist is empty.
type Ready struct {
	// Endpoint is the base URL of the API.
	Endpoint string `json:"endpoint"`
	// Network is that of the loopback data plane.
	Network string `json:"network"`
	// Namespaces is what the names of the netns data plane's namespaces begin
	// with, Client the file of the one from which they are reached.
	Namespaces   string `json:"namespaces"`
	Client       string `json:"client"`
	Organisation string `json:"organisation"`
	VPC          string `json:"vpc"`
	Subnet       string `json:"subnet"`

	credentials emulator.OrganisationSeed
}

// places are where a data plane carries traffic.
type places struct {
	network netip.Prefix
	// prefix and client are Ready.Namespaces and Ready.Client.
	prefix, client string
}

// describe finds the first objects of a seed.
func describe(seed emulator.Seed, at places) Ready {
	ready := Ready{Namespaces: at.prefix, Client: at.client}
	if at.network.IsValid() {
		ready.Network = at.network.String()
	}
	for _, org := range seed.Organisations[:min(1, len(seed.Organisations))] {
		ready.credentials, ready.Organisation = org, org.Identity
		for _, vpc := range org.VPCs[:min(1, len(org.VPCs))] {
			ready.VPC = vpc.Identity
			for _, subnet := range vpc.Subnets[:min(1, len(vpc.Subnets))] {
				ready.Subnet = subnet.Identity
			}
		}
	}
	return ready
}

// serve answers requests until ctx ends.
func (o *options) serve(ctx context.Context, api *emulator.Emulator, ready Ready, out io.Writer,
	log *slog.Logger) error {
	// One left by a run that was killed would mislead whoever waits for ours.
	if err := replaceable(o.readyFile); err != nil {
		return err
	}
	if err := retract(o.readyFile); err != nil {
		return err
	}
	listener, err := o.open(ctx, log)
	if err != nil {
		return err
	}
	scheme := "http"
	if o.certFile != "" {
		scheme = "https"
	}
	ready.Endpoint = scheme + "://" + listener.Addr().String()
	server := &http.Server{Handler: api, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	// Faults drop connections; those of HTTP/2 belong to many requests.
	server.Protocols.SetHTTP1(true)
	failed := make(chan error, 1)
	go func() {
		if o.certFile != "" {
			failed <- server.ServeTLS(listener, o.certFile, o.keyFile)
			return
		}
		failed <- server.Serve(listener)
	}()
	defer func() { _ = server.Close() }()
	if err := announce(out, o.readyFile, ready); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serving %s: %w", ready.Endpoint, err), retract(o.readyFile))
	case <-ctx.Done():
	}
	// Requests that hang on purpose, and streams, would hold up the end.
	api.ClearFaults()
	api.EndEvents()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	err = errors.Join(server.Shutdown(grace), retract(o.readyFile))
	fmt.Fprintln(out, "Stopped.")
	return err
}

// open starts to listen, and warns when that reaches further than this machine.
func (o *options) open(ctx context.Context, log *slog.Logger) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen=%s: %w", o.listen, err)
	}
	if listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return listener, nil
	}
	if o.certFile == "" && !o.plainHTTP {
		err := fmt.Errorf("--listen=%s: HTTP without TLS is served on loopback addresses only; "+
			"give --tls-cert-file and --tls-key-file, or --allow-plain-http (in a container also "+
			environmentPrefix+"ALLOW_PLAIN_HTTP=true)", o.listen)
		return nil, closing(err, listener)
	}
	log.Warn(
		"the emulator can be reached from other machines, its credentials are public, and its admin API needs none",
		"address", listener.Addr().String())
	return listener, nil
}

// announce writes where the emulator is, for people and programs.
func announce(out io.Writer, path string, ready Ready) error {
	fmt.Fprintf(out, "Thalassa emulator: the API is at %s, the admin API at %s/_emulator/state.\n", ready.Endpoint,
		ready.Endpoint)
	fmt.Fprintf(out, "What it has and does, live in a browser: %s/_emulator/\n", ready.Endpoint)
	fmt.Fprintf(out, "Organisation %s, VPC %s, subnet %s.\n", ready.Organisation, ready.VPC, ready.Subnet)
	if ready.Network != "" {
		fmt.Fprintf(out, "Load balancers carry traffic in %s.\n", ready.Network)
	}
	if ready.Client != "" {
		fmt.Fprintf(out,
			"Machines are network namespaces: %sNAME. Reach them and load balancers from nsenter --net=%s\n",
			ready.Namespaces, ready.Client)
	}
	fmt.Fprintln(out, "These credentials are the emulator's own and open nothing else:")
	for _, client := range ready.credentials.Clients {
		fmt.Fprintf(out, "  client id %s, client secret %s\n", client.ID, client.Secret)
	}
	for _, token := range ready.credentials.PersonalAccessTokens {
		fmt.Fprintf(out, "  personal access token %s\n", token)
		fmt.Fprintf(out, "Try: curl -H 'Authorization: Token %s' %s/v1/vpcs\n", token, ready.Endpoint)
	}
	if path == "" {
		return nil
	}
	return writeReady(path, ready)
}

// writeReady writes the ready file so that a reader sees all of it or nothing.
func writeReady(path string, ready Ready) error {
	content, err := json.MarshalIndent(ready, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the ready file: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("writing the ready file: %w", err)
	}
	_, err = file.Write(append(content, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing the ready file: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// replaceable returns an error if a file is there that is neither empty nor a ready file: it is not removed for one.
func replaceable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil && info.Size() > 0 {
		err = checkReady(path)
	}
	if err != nil {
		return fmt.Errorf("--ready-file=%s: it is not the ready file of an emulator and was not changed: %w; move it "+
			"away, or use another file", path, err)
	}
	return nil
}

// checkReady returns an error if the content of a file is not that of a ready file.
func checkReady(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var earlier Ready
	if err := json.Unmarshal(content, &earlier); err != nil {
		return err
	}
	if earlier.Endpoint == "" {
		return errors.New("it has no endpoint")
	}
	return nil
}

// retract removes the ready file.
func retract(path string) error {
	if path == "" {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the ready file: %w", err)
	}
	return nil
}

// closing closes something after an error (or none) and keeps both errors.
func closing(err error, something io.Closer) error {
	if something == nil {
		return err
	}
	return errors.Join(err, something.Close())
}
