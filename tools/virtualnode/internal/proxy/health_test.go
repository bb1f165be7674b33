package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/thalassa-cloud/thalassa-ccm/tools/virtualnode/internal/fabric"
)

func TestHealth(t *testing.T) {
	p := newProxy(t, &fabric.Fabric{})
	port, healthPort := freePort(t), freePort(t)
	url := fmt.Sprintf("http://%s/healthz", netip.AddrPortFrom(nodeAddr, healthPort))
	tests := []struct {
		name      string
		endpoints []Endpoint
		status    int
		body      string
	}{
		{"a local endpoint", []Endpoint{podOne, podTwo}, http.StatusOK,
			"ready endpoints of shop/web"},
		{"only on another node", []Endpoint{podTwo}, http.StatusServiceUnavailable,
			"no ready endpoint of shop/web"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p.Set(Service{NamespacedName: web, HealthPort: healthPort, Ports: []Port{
				{NodePort: port, Local: true, Endpoints: tt.endpoints},
			}})
			resp, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tt.status || strings.TrimSpace(string(body)) != tt.body {
				t.Errorf("got %d %s, %v; want %d %s", resp.StatusCode, body, err, tt.status, tt.body)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
	p.Set(Service{NamespacedName: web})
	refused(t, netip.AddrPortFrom(nodeAddr, healthPort).String(), "deleted Service")
}

// A node port and a health port may change hands; the event about the old owner may come last.
func TestPortsChangeHands(t *testing.T) {
	f := &fabric.Fabric{}
	serve(t, f, podOne.Addr, "one")
	p := newProxy(t, f)
	port, health := freePort(t), freePort(t)
	service := func(name string, port, health uint16) Service {
		return Service{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, HealthPort: health,
			Ports: []Port{
				{NodePort: port, Local: true, Endpoints: []Endpoint{podOne}},
			}}
	}
	p.Set(service("old", port, health))
	p.Set(service("new", port, health))
	p.Set(Service{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "old"}})
	url := fmt.Sprintf("http://%s/", netip.AddrPortFrom(nodeAddr, health))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	deadline := time.Now().Add(wait)
	for {
		body := ""
		if resp, err := client.Get(url); err == nil {
			data, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			body = string(data)
		}
		if strings.Contains(body, "shop/new") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the health port answers %q, want the new Service", body)
		}
		<-time.After(10 * time.Millisecond)
	}
	if got := ask(t, netip.AddrPortFrom(nodeAddr, port).String()); got.pod != "one" {
		t.Errorf("reached %q through the node port, want one", got.pod)
	}
	moved := freePort(t)
	p.Set(service("new", port, moved))
	refused(t, netip.AddrPortFrom(nodeAddr, health).String(), "health port that moved away")
	p.Set(service("new", port, 0))
	refused(t, netip.AddrPortFrom(nodeAddr, moved).String(), "health port that was taken away")
}
