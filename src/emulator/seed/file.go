package seed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// header is what Write writes above a seed.
const header = `# The state of an emulator of Thalassa Cloud, as a seed file.
# It has all credentials in plain text: personal access tokens, bearer tokens, the secrets of clients and access
# credentials, the codes of invites, and the private key of the emulator's identity provider. Whoever has this file can
# use them in every emulator that starts with it.
`

// End is the last line of a seed that Write wrote. A file without it was cut off.
const End = "..."

// Error is an error about the content of a seed.
type Error struct{ Err error }

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the seed.
func (e *Error) Unwrap() error { return e.Err }

// Write writes a seed as YAML.
func Write(w io.Writer, s Seed) error {
	s.Version = Version
	document, err := nodeOf(reflect.ValueOf(s))
	if err != nil {
		return fmt.Errorf("writing seed: %w", err)
	}
	_, err = io.WriteString(w, header)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err = errors.Join(err, encoder.Encode(document), encoder.Close()); err != nil {
		return fmt.Errorf("writing seed: %w", err)
	}
	_, err = fmt.Fprintln(w, End)
	return err
}

// Read reads a seed from YAML. Unknown keys are errors.
func Read(r io.Reader) (Seed, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return Seed{}, fmt.Errorf("reading seed: %w", err)
	}
	seed, err := decode(content)
	err = cmp.Or(checkVersion(content, seed, err), err)
	if err != nil {
		return Seed{}, fmt.Errorf("reading seed: %w", err)
	}
	return seed, nil
}

func decode(content []byte) (seed Seed, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return seed, errors.New("it is empty; leave it out to begin with the default seed")
	} else if err != nil {
		return seed, err
	}
	if err := decoder.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return seed, errors.New("more than one YAML document; put everything in one")
	}
	if err := misfit(&document); err != nil {
		return seed, err
	}
	return seed, document.Decode(&seed)
}

// checkVersion refuses a seed of a newer version, also if it has keys that this version does not know, and one of a
// negative version.
func checkVersion(content []byte, seed Seed, failed error) error {
	found := struct{ Version int }{seed.Version}
	if failed != nil {
		// If this fails, too, then the first error says why.
		_ = yaml.Unmarshal(content, &found)
	}
	switch {
	case found.Version < 0:
		return fmt.Errorf("field \"version\" must not be negative, and is %d", found.Version)
	case found.Version <= Version:
		return nil
	}
	return fmt.Errorf("its version is %d, and this emulator knows versions up to %d only; use the emulator that wrote "+
		"it, or a newer one", found.Version, Version)
}
