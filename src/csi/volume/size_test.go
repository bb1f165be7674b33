package volume

import (
	"math"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
)

const gib = resource.GiB

func TestSize(t *testing.T) {
	for name, test := range map[string]struct {
		required, limit, atLeast int64
		want                     int64 // 0: OutOfRange
		text                     string
	}{
		"nothing":                 {0, 0, 0, DefaultSize, ""},
		"low limit":               {0, 3*gib + 1, 0, 3, ""},
		"whole":                   {5 * gib, 0, 0, 5, ""},
		"rounded up":              {5*gib + 1, 0, 0, 6, ""},
		"one byte":                {1, 0, 0, 1, ""},
		"most":                    {MaxSize * gib, 0, 0, MaxSize, ""},
		"exact limit":             {5 * gib, 5 * gib, 0, 5, ""},
		"source":                  {0, 0, 20, 20, ""},
		"larger than the source":  {21 * gib, 0, 20, 21, ""},
		"source below default":    {0, 0, 2, DefaultSize, ""},
		"limit after rounding":    {5*gib + 1, 6*gib - 1, 0, 0, "sizes are whole GiB"},
		"limit below minimum":     {0, gib - 1, 0, 0, "the smallest volume that satisfies the request has 1 GiB"},
		"limit below source":      {0, 10 * gib, 20, 0, "has 20 GiB"},
		"required above limit":    {2, 1, 0, 0, "not above the limit"},
		"negative":                {-1, 0, 0, 0, "-1 bytes are required"},
		"negative limit":          {0, -1, 0, 0, "-1 are the limit"},
		"too large":               {MaxSize*gib + 1, 0, 0, 0, "volumes have at most 16384 GiB"},
		"largest number":          {math.MaxInt64, 0, 0, 0, "volumes have at most"},
		"largest limited":         {math.MaxInt64, math.MaxInt64, 0, 0, "capacity range"},
		"smaller than the source": {5 * gib, 0, 20, 0, "request at least 20Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Size(&csi.CapacityRange{RequiredBytes: test.required, LimitBytes: test.limit}, test.atLeast)
			if got != test.want || (err == nil) != (test.want > 0) {
				t.Errorf("%d, %v, want %d", got, err, test.want)
			}
			if err != nil && (status.Code(err) != codes.OutOfRange || !strings.Contains(err.Error(), test.text)) {
				t.Errorf("%v, want OutOfRange with %q", err, test.text)
			}
		})
	}
	if got, err := Size(nil, 0); got != DefaultSize || err != nil {
		t.Errorf("without a range: %d, %v, want %d", got, err, DefaultSize)
	}
}

// An expansion never changes a volume that has a size in the range already, and never makes one smaller.
func TestExpandedSize(t *testing.T) {
	for name, test := range map[string]struct {
		required, limit, present int64
		want                     int64 // 0: OutOfRange
		text                     string
	}{
		"nothing":                 {0, 0, 10, 10, ""},
		"only a limit":            {0, 12 * gib, 10, 10, ""},
		"smaller":                 {5 * gib, 0, 10, 10, ""},
		"the same":                {10 * gib, 10 * gib, 10, 10, ""},
		"larger, rounded up":      {10*gib + 1, 11 * gib, 10, 11, ""},
		"largest":                 {0, 0, MaxSize + 1, MaxSize + 1, ""},
		"limit below present":     {0, 10*gib - 1, 10, 0, "the volume has 10737418240 already"},
		"smaller with a limit":    {5 * gib, 6 * gib, 10, 0, "do not become smaller"},
		"limit after rounding":    {10*gib + 1, 11*gib - 1, 10, 0, "sizes are whole GiB"},
		"required above limit":    {12 * gib, 11 * gib, 10, 0, "not above the limit"},
		"negative":                {-1, 0, 10, 0, "-1 bytes are required"},
		"too large":               {MaxSize*gib + 1, 0, 10, 0, "volumes have at most 16384 GiB"},
		"larger than the largest": {math.MaxInt64, 0, MaxSize + 1, 0, "volumes have at most"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ExpandedSize(&csi.CapacityRange{RequiredBytes: test.required, LimitBytes: test.limit},
				test.present)
			if got != test.want || (err == nil) != (test.want > 0) {
				t.Errorf("%d, %v, want %d", got, err, test.want)
			}
			if err != nil && (status.Code(err) != codes.OutOfRange || !strings.Contains(err.Error(), test.text)) {
				t.Errorf("%v, want OutOfRange with %q", err, test.text)
			}
		})
	}
}

// A size is never below what is required or the source, and never above the limit or the largest size; and if there is
// such a size, it is found.
func FuzzSize(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0))
	f.Add(5*gib+1, 6*gib, int64(3))
	f.Add(int64(math.MaxInt64), int64(math.MaxInt64), int64(1))
	f.Add(int64(-1), int64(math.MinInt64), int64(0))
	f.Fuzz(func(t *testing.T, required, limit, atLeast int64) {
		atLeast &= 2*MaxSize - 1
		size, err := Size(&csi.CapacityRange{RequiredBytes: required, LimitBytes: limit}, atLeast)
		if err != nil {
			if status.Code(err) != codes.OutOfRange {
				t.Errorf("%v, want OutOfRange", err)
			}
			if smallest := max(atLeast, MinSize); required == 0 && smallest <= MaxSize && limit/gib >= smallest {
				t.Errorf("%v, although %d GiB are allowed", err, smallest)
			}
			return
		}
		if size < MinSize || size > MaxSize || size < atLeast || size*gib < required || limit > 0 && size*gib > limit {
			t.Errorf("%d GiB for %d to %d bytes, and at least %d GiB", size, required, limit, atLeast)
		}
	})
}
