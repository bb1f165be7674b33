package openapitest

import "testing"

// Schemas are compiled when they are first used, and here all of them.
func TestEveryOperationCompiles(t *testing.T) {
	d, err := sharedDescription()
	if err != nil {
		t.Fatal(err)
	}
	for name, compiled := range d.operations {
		if o, err := compiled(); err != nil || o.answers == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(d.operations) == 0 {
		t.Error("the document has no operation")
	}
}
