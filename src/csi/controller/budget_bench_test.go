package controller

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/thalassa-cloud/thalassa-ccm/src/budget/benchtest"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/storage"
)

// recorded answers every request with one body, so that the CPU time is that of the controller alone.
type recorded []byte

// RoundTrip implements http.RoundTripper.
func (r recorded) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(r)), ContentLength: int64(len(r))}, nil
}

// BenchmarkListVolumes measures a minute without changes: a new list of 1,000 volumes of the cloud, and the answer to
// the attacher.
func BenchmarkListVolumes(b *testing.B) {
	const volumes = 1000
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as the process has it
	r := newRig(b, emulator.Config{})
	r.restartBy(r.emulator.Transport(), volumes)
	kind := must[resource.VolumeType](r)(r.Storage.Type(b.Context(), "block"))
	for i := range volumes {
		must[resource.Volume](r)(r.Storage.CreateVolume(b.Context(), resource.Volume{Name: fmt.Sprintf("pvc-%d", i),
			Size: 1, Type: kind.ID, Labels: r.Owner.Labels()}))
	}
	request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://cloud.test/v1/volumes", nil)
	request.Header.Set("Authorization", "Token "+emulator.DefaultToken)
	request.Header.Set("X-Organisation-Identity", emulator.DefaultOrganisationSlug)
	answer, err := r.emulator.Transport().RoundTrip(request)
	r.ok(err)
	defer answer.Body.Close()
	body := must[[]byte](r)(io.ReadAll(answer.Body))
	r.restartBy(recorded(body), 1<<20)

	began, passes := benchtest.CPU(b), 0
	for b.Loop() {
		must[[]resource.Volume](r)(r.Storage.Volumes(b.Context(), storage.Fresh))
		got := must[*csi.ListVolumesResponse](r)(r.ListVolumes(b.Context(), &csi.ListVolumesRequest{}))
		if len(got.GetEntries()) != volumes {
			b.Fatalf("%d volumes, want %d", len(got.GetEntries()), volumes)
		}
		passes++
	}
	b.ReportMetric((benchtest.CPU(b)-began).Seconds()/float64(passes), "csi-quiet-cpu")
	b.ReportMetric(float64(len(body))/(1<<20), "csi-quiet-traffic")
}
