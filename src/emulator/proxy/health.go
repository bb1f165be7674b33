package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/traffic"
)

// refusalWait is how long a UDP check waits for "port unreachable", which the
// kernel sends at once on the loopback interface.
const refusalWait = 50 * time.Millisecond

// prober sends health checks.
type prober struct {
	sockets Sockets
	// source is the address that checks come from: the load balancer's.
	source netip.Addr
	// second is how long a second between two checks takes.
	second time.Duration
}

// urgency is how many times as often a target is checked until its health is known.
const urgency = 10

// watch checks a target until ctx ends, and reports every result. report says what the health of the target is then.
// The health of a new target is known when it is healthy, or when a healthy target that fails from now on would be
// unhealthy. Until then it is checked in quick succession: a machine that needs a second to serve a new port does not
// wait for the next periods.
func (p prober) watch(ctx context.Context, check traffic.HealthCheck, target netip.Addr,
	report func(good bool) traffic.Health) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	unknown := time.Now().Add(p.scaled(check.Period * time.Duration(check.UnhealthyThreshold)))
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began, pause := time.Now(), check.Period
		if report(p.once(ctx, check, target) == nil) == traffic.Healthy {
			unknown = began
		}
		if time.Now().Before(unknown) {
			pause /= urgency
		}
		timer.Reset(max(0, p.scaled(pause)-time.Since(began)))
	}
}

// scaled converts a duration of a check to real time, never to nothing.
func (p prober) scaled(d time.Duration) time.Duration {
	return max(time.Millisecond, time.Duration(d.Seconds()*float64(p.second)))
}

// once checks a target once.
func (p prober) once(ctx context.Context, check traffic.HealthCheck, target netip.Addr) error {
	// A shorter second does not make targets answer sooner, so it does not shorten this.
	ctx, cancel := context.WithTimeout(ctx, max(check.Timeout, p.scaled(check.Timeout)))
	defer cancel()
	at := netip.AddrPortFrom(target, check.Port)
	switch check.Protocol {
	case "http", "https":
		return p.http(ctx, at, check.Protocol+"://"+at.String()+check.Path)
	case "udp":
		return p.udp(ctx, at)
	}
	conn, err := p.sockets.Dial(ctx, "tcp", p.source, at)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (p prober) http(ctx context.Context, at netip.AddrPort, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// Each check gets a fresh connection, and certificates are not verified:
	// machines have none for their addresses.
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return p.sockets.Dial(ctx, "tcp", p.source, at)
		},
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)); err != nil {
		return errors.Join(err, response.Body.Close())
	}
	if response.StatusCode >= http.StatusBadRequest {
		return errors.Join(errors.New(response.Status), response.Body.Close())
	}
	return response.Body.Close()
}

// udp fails if the target's kernel answers that the port is closed; no answer is a success.
func (p prober) udp(ctx context.Context, at netip.AddrPort) error {
	conn, err := p.sockets.Dial(ctx, "udp", p.source, at)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(refusalWait)); err != nil {
		return err
	}
	if _, err := conn.Write(nil); err != nil {
		return err
	}
	if _, err = conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}
