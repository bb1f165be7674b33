package emulator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// startCloud is how a test of another project starts a cloud: it makes one, checks the error, and serves it.
func startCloud() (*httptest.Server, error) {
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
	if err != nil {
		return nil, err
	}
	return httptest.NewServer(cloud), nil
}

// Every client of the API works with the address of the server and the token.
func Example() {
	server, err := startCloud()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+"/v1/vpcs", http.NoBody)
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	response, err := server.Client().Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	// Output: 200 OK
}
