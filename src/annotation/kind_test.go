package annotation

import "testing"

// TestConditions pins the text of the conditions; that they mean the same as Parse is checked by an API server.
func TestConditions(t *testing.T) {
	want := map[string]string{
		"limit":  `x.matches("^[+-]?0*[0-9]{1,3}$") && int(x) >= 1 && int(x) <= 100`,
		"proxy":  `x in ["true", "false", "True", "False", "TRUE", "FALSE", "t", "f", "T", "F", "1", "0"]`,
		"policy": `x in ["A", "B"]`,
	}
	registry := newKeys().registry
	for name, condition := range want {
		if got := registry.Condition(name, "x"); got != condition {
			t.Errorf("%s: %s, want %s", name, got, condition)
		}
	}
}

// TestConditionOfWords: quotes and backslashes end no string early.
func TestConditionOfWords(t *testing.T) {
	if got, want := Enum(`a"b\c`).Condition("x"), `x in ["a\"b\\c"]`; got != want {
		t.Errorf("condition %s, want %s", got, want)
	}
}

// TestConditionOfNegativeNumbers: the longer end of the range decides how many digits there may be.
func TestConditionOfNegativeNumbers(t *testing.T) {
	want := `x.matches("^[+-]?0*[0-9]{1,2}$") && int(x) >= -10 && int(x) <= 5`
	if got := Int(-10, 5, "").Condition("x"); got != want {
		t.Errorf("condition %s, want %s", got, want)
	}
}
