package pod

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestAddresses(t *testing.T) {
	a := NewAddresses()
	a.SetRange(netip.MustParsePrefix("10.244.1.0/29"))
	a.SetRange(netip.MustParsePrefix("10.9.9.0/24")) // never changes
	take := func() string {
		addr, err := a.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return addr.String()
	}
	for _, want := range []string{"10.244.1.2", "10.244.1.3", "10.244.1.4", "10.244.1.5", "10.244.1.6"} {
		if got := take(); got != want {
			t.Errorf("took %s, want %s", got, want)
		}
	}
	a.Release(netip.MustParseAddr("10.244.1.3"))
	if got := take(); got != "10.244.1.3" {
		t.Errorf("took %s, want the one that was released", got)
	}
	a.Release(netip.MustParseAddr("10.244.1.3"))
	a.Release(netip.MustParseAddr("10.244.1.5"))
	if got := take(); got != "10.244.1.3" {
		t.Errorf("took %s, want the one that was released first", got)
	}
}

func TestAddressesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAddresses()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a range: %v, want to wait until the deadline", err)
		}
		time.AfterFunc(time.Minute, func() { a.SetRange(netip.MustParsePrefix("10.244.1.0/30")) })
		addr, err := a.Take(t.Context())
		if err != nil || addr.String() != "10.244.1.2" {
			t.Fatalf("took %s, %v; want 10.244.1.2 once the range is known", addr, err)
		}
		time.AfterFunc(time.Minute, func() { a.Release(addr) })
		if addr, err = a.Take(t.Context()); err != nil || addr.String() != "10.244.1.2" {
			t.Errorf("took %s, %v; want to wait until it is free again", addr, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("full range: %v, want to wait until the deadline", err)
		}
	})
}

// TestAddressesMeanwhile: pods that wait for the range take addresses while it is set, and all can be given back.
func TestAddressesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAddresses()
		taken := make(chan netip.Addr, MaxPods)
		for range MaxPods {
			go func() {
				if addr, err := a.Take(t.Context()); err == nil {
					taken <- addr
				}
			}()
		}
		synctest.Wait()
		a.SetRange(netip.MustParsePrefix("10.244.0.0/16"))
		for range MaxPods {
			a.Release(<-taken)
		}
		synctest.Wait()
	})
}
