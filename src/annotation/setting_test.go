package annotation

import "testing"

func TestSettingOver(t *testing.T) {
	if got := (Setting[int]{Value: 10}).Over(7); got != 10 {
		t.Errorf("a valid setting must win over the observed value, got %d", got)
	}
	if got := (Setting[int]{Value: 10, Invalid: true}).Over(7); got != 7 {
		t.Errorf("an invalid setting must keep the observed value, got %d", got)
	}
}
