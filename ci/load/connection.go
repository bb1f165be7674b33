package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	// protocol is what a connection is upgraded to: every byte comes back.
	protocol = "echo"
	// targetHeader says who answers.
	targetHeader = "Load-Target"
	// question upgrades a connection. It is HTTP, so that whatever serves HTTP can be the other end.
	question = "GET / HTTP/1.1\r\nHost: load\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n"
)

// connection is an open connection whose other end has said who it is.
type connection struct {
	net.Conn
	reader *bufio.Reader
	target string
	sent   byte
}

// open connects and asks who is there.
func open(ctx context.Context, dial func(context.Context) (net.Conn, error)) (*connection, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	c := &connection{Conn: conn, reader: bufio.NewReader(conn)}
	if c.target, err = c.greet(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// greet returns who the other end says it is.
func (c *connection) greet(ctx context.Context) (target string, err error) {
	release, err := c.hold(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := c.Write([]byte(question)); err != nil {
		return "", fmt.Errorf("asking who is there: %w", err)
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return "", fmt.Errorf("reading who is there: %w", err)
	}
	answer.Body.Close()
	if target = answer.Header.Get(targetHeader); answer.StatusCode != http.StatusSwitchingProtocols || target == "" {
		return "",
			fmt.Errorf("reading who is there: the answer is %q and has no name; the other end must be a load.Handler",
				answer.Status)
	}
	return target, nil
}

// echo sends a byte, another one each time, and fails unless it comes back.
func (c *connection) echo(ctx context.Context) error {
	release, err := c.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	c.sent++
	if _, err := c.Write([]byte{c.sent}); err != nil {
		return fmt.Errorf("sending to %s: %w", c.target, err)
	}
	received, err := c.reader.ReadByte()
	if err != nil {
		return fmt.Errorf("reading from %s: %w", c.target, err)
	}
	if received != c.sent {
		return fmt.Errorf("reading from %s: %d came back for %d", c.target, received, c.sent)
	}
	return nil
}

// hold makes reads and writes end with ctx until release.
func (c *connection) hold(ctx context.Context) (release func(), err error) {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, fmt.Errorf("setting a deadline: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			_ = c.SetDeadline(time.Unix(1, 0)) // a closed connection ends by itself
		}
	})
	return func() { stop() }, nil
}
