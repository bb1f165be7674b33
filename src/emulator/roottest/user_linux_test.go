package roottest

import (
	"errors"
	"os"
	"testing"
)

// Whoever runs the tests: f is an ordinary user, and its error comes back. Who runs them stays who they are.
func TestAsUser(t *testing.T) {
	before, failure := os.Geteuid(), errors.New("failed")
	user := 0
	err := AsUser(func() error {
		user = os.Geteuid()
		return failure
	})
	if user == 0 || !errors.Is(err, failure) {
		t.Errorf("AsUser: %v as user %d, want the error of an ordinary user", err, user)
	}
	for range 100 {
		done := make(chan int)
		go func() { done <- os.Geteuid() }()
		if got := <-done; got != before {
			t.Fatalf("another goroutine is user %d, want %d", got, before)
		}
	}
}
