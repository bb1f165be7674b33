//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/thalassa-cloud/thalassa-ccm/tools/splice"
)

// dial connects to an address.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// door is a way from a loopback address of this machine to an address that only a namespace reaches.
type door struct {
	listener net.Listener
	through  dial
	to       string
	ctx      context.Context
	cancel   context.CancelFunc
	open     sync.WaitGroup
}

func openDoor(through dial, to string) (*door, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening a way to %s: %w", to, err)
	}
	d := &door{listener: listener, through: through, to: to}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.open.Go(d.serve)
	return d, nil
}

func (d *door) address() string { return d.listener.Addr().String() }

// close ends all connections, too.
func (d *door) close() error {
	d.cancel()
	err := d.listener.Close()
	d.open.Wait()
	return err
}

func (d *door) serve() {
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			return // closed
		}
		d.open.Go(func() { d.carry(conn) })
	}
}

// carry carries one connection until both sides have ended, or one has broken off.
func (d *door) carry(near net.Conn) {
	defer near.Close()
	far, err := d.through(d.ctx, "tcp", d.to)
	if err != nil {
		return // whoever connected sees its connection closed
	}
	defer far.Close()
	stop := context.AfterFunc(d.ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	splice.Both(near, far)
}
