package providerid

import "testing"

func TestProviderID(t *testing.T) {
	for _, bad := range []string{"", "thalassacloud://", "thalassacloud:///m-1", "thalassacloud://m 1",
		"Thalassacloud://m-1", "aws:///m-1", "m-1"} {
		if id, err := Machine(bad); err == nil {
			t.Errorf("Machine(%q) = %q, want an error", bad, id)
		}
	}
	if id, err := Machine(Of("m-1_A")); id != "m-1_A" || err != nil {
		t.Errorf("Machine = %q, %v", id, err)
	}
}

func FuzzProviderID(f *testing.F) {
	f.Add("thalassacloud://m-1")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := Machine(text); err == nil && Of(id) != text {
			t.Errorf("%q is read as %q, which is written %q", text, id, Of(id))
		}
	})
}
