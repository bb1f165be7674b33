package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// bodyLimit bounds what is read of an answer and shown when it is a failure.
const bodyLimit = 1 << 10

// Target is a container that can be probed.
type Target struct {
	// Dial connects to a pod address.
	Dial func(context.Context, netip.AddrPort) (net.Conn, error)
	// Pod is the address of the pod.
	Pod       netip.Addr
	Container *corev1.Container
}

// Supported returns an error for a probe that a virtual node cannot make.
func Supported(p *corev1.Probe) error {
	if p == nil || p.HTTPGet != nil && p.HTTPGet.Host == "" && len(p.HTTPGet.HTTPHeaders) == 0 {
		return nil
	}
	return errors.New("virtual nodes support httpGet probes without host and headers only")
}

// Check makes one attempt of a supported probe and returns why it failed.
func (t Target) Check(ctx context.Context, p *corev1.Probe) error {
	number, err := t.number(p.HTTPGet.Port)
	if err != nil {
		return err
	}
	at := netip.AddrPortFrom(t.Pod, number)
	request, err := newRequest(ctx, p.HTTPGet, at)
	if err != nil {
		return err
	}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return t.Dial(ctx, at) },
			// A probe proves that a container answers, not who it is: kubelet does not verify either.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		// A redirect also counts as alive.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe of %s failed with status code %d: %s", request.URL, resp.StatusCode,
			strings.TrimSpace(string(body)))
	}
	return nil
}

func newRequest(ctx context.Context, action *corev1.HTTPGetAction, at netip.AddrPort) (*http.Request, error) {
	target, err := url.Parse(action.Path)
	if err != nil {
		return nil, fmt.Errorf("reading the probe's path: %w", err)
	}
	target.Scheme = strings.ToLower(string(action.Scheme))
	if target.Scheme == "" {
		target.Scheme = "http"
	}
	target.Host = at.String()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("making the probe's request: %w", err)
	}
	request.Header.Set("User-Agent", "kube-probe/virtualnode")
	return request, nil
}

func (t Target) number(port intstr.IntOrString) (uint16, error) {
	if port.Type == intstr.Int {
		return uint16(port.IntVal), nil
	}
	for _, p := range t.Container.Ports {
		if p.Name == port.StrVal {
			return uint16(p.ContainerPort), nil
		}
	}
	number, err := strconv.ParseUint(port.StrVal, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("the container has no port called %q", port.StrVal)
	}
	return uint16(number), nil
}
