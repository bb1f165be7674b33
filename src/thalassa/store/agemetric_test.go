package store

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestAge is that of the present list, valid or not; a list that failed is none.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		k, unused := s.kind(), new(shelf).kind()
		want := func(seconds string) {
			t.Helper()
			const name = "cloudprovider_thalassa_inventory_age_seconds"
			text := "# HELP " + name + " Age of the cached list of objects of a kind, in seconds. There is no value " +
				"before the first list.\n# TYPE " + name + " gauge\n" + name + `{kind="machine"} ` + seconds + "\n"
			if seconds == "" {
				text = ""
			}
			ages := AgeCollector(Ages{"machine": unused.CopyTime},
				Ages{"machine": k.CopyTime, "VPC": unused.CopyTime})
			if err := testutil.CollectAndCompare(ages, strings.NewReader(text)); err != nil {
				t.Error(err)
			}
		}
		want("")
		values(t, k, "1", Fresh)
		want("1") // a list takes a second
		<-time.After(time.Minute)
		s.err = errors.New("away")
		if err := k.Refresh(t.Context(), Fresh); err == nil {
			t.Error("a list that failed is believed")
		}
		k.Invalidate()
		want("62")
	})
}
