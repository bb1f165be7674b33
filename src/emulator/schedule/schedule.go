// Package schedule provides the times of schedules that are cron expressions.
//
//	daily, err := schedule.Parse("0 2 * * *", "Europe/Amsterdam")
//	next := daily.Next(time.Now())
package schedule

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// Schedule is a cron expression in a time zone. The zero value has no times.
type Schedule struct {
	times cron.Schedule
	zone  *time.Location
}

// fields are minute, hour, day of the month, month and day of the week.
const fields = 5

// Parse reads the fields "schedule" and "timezone" of a request.
func Parse(expression, timezone string) (Schedule, error) {
	refuse := func(why any) (Schedule, error) {
		return Schedule{}, apierror.Invalid("field \"schedule\" must be a cron expression of %d fields, "+
			"minute (0 to 59), hour (0 to 23), day of the month (1 to 31), month (1 to 12) and day of the week "+
			"(0 to 6), like \"0 2 * * *\", not %q: %v", fields, expression, why)
	}
	parts := strings.Fields(expression)
	if len(parts) != fields {
		return refuse("it has another number of fields")
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	times, err := parser.Parse(strings.Join(parts, " "))
	if err != nil {
		return refuse(err)
	}
	zone, err := time.LoadLocation(timezone)
	if err != nil || timezone == "" || zone == time.Local {
		return Schedule{}, apierror.Invalid("field \"timezone\" must be the name of a time zone in the IANA database, "+
			"like \"UTC\" or \"Europe/Amsterdam\", not %q", timezone)
	}
	return Schedule{times: times, zone: zone}, nil
}

// Next is the first time after another one, in UTC; zero if there is none within five years. Times that the zone skips
// when its clocks go forward are left out, and those that it repeats when they go back are there twice.
func (s Schedule) Next(after time.Time) time.Time {
	if s.times == nil {
		return time.Time{}
	}
	next := s.times.Next(after.In(s.zone))
	if next.IsZero() {
		return time.Time{}
	}
	return next.UTC()
}
