package request

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestRequired(t *testing.T) {
	if err := Required("name", ""); status.Code(err) != codes.InvalidArgument ||
		status.Convert(err).Message() != "name is missing" {
		t.Errorf("error %v", err)
	}
	if err := Required("name", "x"); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestBusy(t *testing.T) {
	var busy Busy
	end, err := busy.Begin("volume v-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := busy.Begin("volume v-1"); status.Code(err) != codes.Aborted {
		t.Errorf("a second request: %v", err)
	}
	if _, err := busy.Begin("volume v-2"); err != nil {
		t.Errorf("a request for another volume: %v", err)
	}
	end()
	if _, err := busy.Begin("volume v-1"); err != nil {
		t.Errorf("after the first request: %v", err)
	}
}
