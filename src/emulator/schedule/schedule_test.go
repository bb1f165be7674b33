package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/schedule"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestNext(t *testing.T) {
	for name, tt := range map[string]struct{ expression, zone, after, want string }{
		"later today":         {"0 2 * * *", "UTC", "2026-03-01T01:00:00Z", "2026-03-01T02:00:00Z"},
		"never the same time": {"0 2 * * *", "UTC", "2026-03-01T02:00:00Z", "2026-03-02T02:00:00Z"},
		"spaces and tabs":     {" 0\t2  * * * ", "UTC", "2026-03-01T01:00:00Z", "2026-03-01T02:00:00Z"},
		"a zone in winter":    {"0 2 * * *", "Europe/Amsterdam", "2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z"},
		"a zone in summer":    {"0 2 * * *", "Europe/Amsterdam", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z"},
		"names":               {"30 4 * JAN mon", "UTC", "2026-01-01T00:00:00Z", "2026-01-05T04:30:00Z"},
		"steps and lists":     {"*/20 1,3-4 * * *", "UTC", "2026-01-01T01:40:00Z", "2026-01-01T03:00:00Z"},
		// At 2:00 on this day, the clocks went to 3:00.
		"an hour that is skipped": {"30 2 * * *", "Europe/Amsterdam", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		// At 3:00 on this day, the clocks went to 2:00.
		"an hour that is repeated": {"30 2 * * *", "Europe/Amsterdam", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schedule.Parse(tt.expression, tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Next(at(t, tt.after)); !got.Equal(at(t, tt.want)) || got.Location() != time.UTC {
				t.Errorf("after %s: %v, want %s", tt.after, got, tt.want)
			}
		})
	}
}

func TestNever(t *testing.T) {
	s, err := schedule.Parse("0 0 30 2 *", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]schedule.Schedule{"February has no such day": s, "zero value": {}} {
		if got := s.Next(time.Now()); !got.IsZero() {
			t.Errorf("%s: %v, want no time", name, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, expression := range []string{"", "daily", "@daily", "a b c d e", "* * * *", "0 0 2 * * *", "60 2 * * *",
		"0 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 7", "*/0 * * * *", "5-1 * * * *", "TZ=UTC 0 2 * * *",
		"TZ=UTC 0 2 * *", "TZ=UTC\t0\t2\t*\t*", "1- * * * *", "99999999999999999999 * * * *"} {
		_, err := schedule.Parse(expression, "UTC")
		if err == nil || !strings.Contains(err.Error(), `field "schedule" must be a cron expression of 5 fields`) {
			t.Errorf("schedule %q: %v", expression, err)
		}
	}
	for _, timezone := range []string{"", "Mars", "Local", "../UTC", "europe amsterdam"} {
		_, err := schedule.Parse("0 2 * * *", timezone)
		if err == nil || !strings.Contains(err.Error(), `field "timezone" must be the name of a time zone`) {
			t.Errorf("timezone %q: %v", timezone, err)
		}
	}
}

// No text makes the parser panic, or a schedule that does not move on.
func FuzzParse(f *testing.F) {
	for _, expression := range []string{"0 2 * * *", "*/5 1-3,7 * jan sun", "TZ=UTC 0 2 * *", "0 0 30 2 *"} {
		f.Add(expression, "Europe/Amsterdam")
	}
	f.Fuzz(func(t *testing.T, expression, timezone string) {
		s, err := schedule.Parse(expression, timezone)
		if err != nil {
			return
		}
		now := time.Date(2026, 3, 29, 0, 30, 15, 7, time.UTC)
		if next := s.Next(now); !next.IsZero() && !next.After(now) {
			t.Errorf("%q in %q: %v is not after %v", expression, timezone, next, now)
		}
	})
}
