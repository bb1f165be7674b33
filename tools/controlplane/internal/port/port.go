// Package port reserves a TCP port for a child process.
//
// Asking the kernel for a free port, closing it and telling a child to listen there is a race
// that parallel tests lose now and then. A reservation keeps the port bound, without listening,
// in a way (SO_REUSEPORT) that lets sockets of the same user bind it as well when they ask for it
// the same way: no other program gets it, the child does, and connections reach only the child.
package port

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Reservation is a port that stays ours until Release.
type Reservation struct {
	fd   int
	addr netip.AddrPort
}

// Reserve reserves a free TCP port on an IPv4 address of this machine.
func Reserve(addr netip.Addr) (*Reservation, error) {
	if !addr.Is4() {
		return nil, fmt.Errorf("reserving a port: %s is not an IPv4 address", addr)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserving a port on %s: %w", addr, err)
	}
	number, err := bind(fd, addr)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("reserving a port on %s: %w", addr, err)
	}
	return &Reservation{fd: fd, addr: netip.AddrPortFrom(addr, number)}, nil
}

// Addr is the address and the reserved port.
func (r *Reservation) Addr() netip.AddrPort { return r.addr }

// Release gives the port back. It may be called once.
func (r *Reservation) Release() error {
	if err := unix.Close(r.fd); err != nil {
		return fmt.Errorf("releasing port %s: %w", r.addr, err)
	}
	return nil
}

// bind binds the socket to a port of the kernel's choice and returns it.
func bind(fd int, addr netip.Addr) (uint16, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: addr.As4()}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	got, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("the kernel says an IPv4 socket has an address of type %T", name)
	}
	return uint16(got.Port), nil
}
