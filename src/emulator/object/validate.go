package object

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
)

// Limits that the vendor's Terraform provider enforces before it sends.
const (
	MaxName        = 62
	maxDescription = 255
	MaxPort        = 65535
)

// Lengths are how many characters names and descriptions may have. Zero means as many as in most kinds of objects.
type Lengths struct {
	Name, Description int
	// NameField is what bodies call the name: "name" when empty.
	NameField string
}

func (l Lengths) nameField() string { return cmp.Or(l.NameField, "name") }

// CheckName checks the length of a name.
func CheckName(name string) error { return CheckText("name", name, MaxName) }

// CheckText refuses a text that is empty or too long.
func CheckText(field, text string, most int) error {
	if n := utf8.RuneCountInString(text); n < 1 || n > most {
		return apierror.Invalid("field %q must have 1 to %d characters, %q has %d", field, most, text, n)
	}
	return nil
}

// CheckMeta checks names, descriptions, labels and annotations.
func CheckMeta(s Spec) error {
	if err := CheckDescription(s.Description, s.Longest); err != nil {
		return err
	}
	if err := checkLabels(s.Labels); err != nil {
		return err
	}
	if err := checkAnnotations(s.Annotations); err != nil {
		return err
	}
	return CheckText(s.Longest.nameField(), s.Name, cmp.Or(s.Longest.Name, MaxName))
}

// Checks are what the meta data of new objects is checked for, besides what CheckMeta checks.
type Checks struct {
	// UniqueNames refuses a name that another object of the kind has.
	UniqueNames bool
	// StrictLabels is Switches.StrictLabels.
	StrictLabels bool
	Now          time.Time
}

// CheckNew checks the meta data of a new object.
func CheckNew[T Described](c Checks, among *Collection[T], kind string, s Spec) error {
	if err := CheckMeta(s); err != nil {
		return err
	}
	if c.StrictLabels {
		if err := checkStrictLabels(s.Labels); err != nil {
			return err
		}
	}
	if c.UniqueNames {
		return CheckFree(among, s.Longest, kind, s.Name, "", c.Now)
	}
	return nil
}

// CheckDescription refuses a description that is too long.
func CheckDescription(text string, longest Lengths) error {
	most := cmp.Or(longest.Description, maxDescription)
	if n := utf8.RuneCountInString(text); n > most {
		return apierror.Invalid("field \"description\" must have at most %d characters, not %d", most, n)
	}
	return nil
}

// CheckPort refuses a number that is no port.
func CheckPort(field string, port int) error {
	if port < 1 || port > MaxPort {
		return apierror.Invalid("field %q must be 1 to %d, not %d", field, MaxPort, port)
	}
	return nil
}

// OneOf refuses a value that is not one of those that a field can have.
func OneOf(field, value string, known ...string) error {
	if !slices.Contains(known, value) {
		return apierror.Invalid("field %q must be one of %q, not %q", field, known, value)
	}
	return nil
}

// CheckFree refuses a name that another object of the kind has.
func CheckFree[T Described](among *Collection[T], longest Lengths, kind, name, except string, now time.Time) error {
	for item := range Present(among, now) {
		if other := item.Nested(); other.Name == name && other.Identity != except {
			return apierror.Conflict("field %q: %s %q is called %q already", longest.nameField(), kind,
				other.Identity, name)
		}
	}
	return nil
}
