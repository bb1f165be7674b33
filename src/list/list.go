// Package list writes lists of names for sentences of events and errors.
package list

import (
	"fmt"
	"strings"
)

// Max bounds how many names are written: the message of an event has at most 1,024 characters.
const Max = 10

// Short returns the names separated by commas. Of more than Max, it writes the first ones and the number of the others:
// "a, b and 3 more".
func Short(names []string) string {
	if more := len(names) - Max; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:Max], ", "), more)
	}
	return strings.Join(names, ", ")
}
