package emulator_test

import (
	"bytes"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

// checkRestart checks that an emulator that starts with the present state has the same.
func (w *walker) checkRestart() {
	w.Helper()
	var text bytes.Buffer
	if err := emulator.WriteSeed(&text, w.cloud.Seed()); err != nil {
		w.Fatal(err)
	}
	seed, err := emulator.ReadSeed(bytes.NewReader(text.Bytes()))
	if err != nil {
		w.Fatalf("%v\n%s", err, text.String())
	}
	next, err := emulator.NewDescribed(w.T, emulator.Config{Seed: seed})
	if err != nil {
		w.Fatalf("%v\n%s", err, text.String())
	}
	before, _ := emulator.Content(w.cloud)
	after, _ := emulator.Content(next)
	if diff := cmp.Diff(before, after); diff != "" {
		w.Errorf("the store differs after a restart (-before +after):\n%s", diff)
	}
}
