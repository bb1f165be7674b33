package emulator_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// startCloud is the three lines with which a test of another project starts a cloud. A test checks the error with t.Fatal.
func startCloud() (*httptest.Server, error) {
	cloud, err := emulator.New(emulator.Config{Seed: emulator.DefaultSeed()})
	server := httptest.NewServer(cloud)
	return server, err
}

// Every client of the API works with the address of the server and the token.
func Example() {
	server, err := startCloud()
	defer server.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
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
