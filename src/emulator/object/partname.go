package object

import (
	"unicode/utf8"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// CheckPartName checks the name of a part of an object, such as a rule. It is not longer than that of an object, and
// can be empty.
func CheckPartName(field, name string) error {
	if n := utf8.RuneCountInString(name); n > maxName {
		return apierror.Invalid("field %q must have at most %d characters, not %d", field, maxName, n)
	}
	return nil
}
