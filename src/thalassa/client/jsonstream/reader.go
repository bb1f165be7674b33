// Package jsonstream reads large JSON lists of which little is needed. What is skipped is checked, and neither copied
// nor decoded, so that a list of a million attachments costs little time and no memory:
//
//	r := jsonstream.NewReader(body)
//	err := r.Each(func() error {
//		return r.Fields(func(name []byte) error {
//			if string(name) != "identity" {
//				return r.Skip()
//			}
//			identity, err := r.Text()
//			…
//		})
//	})
//
// It accepts what encoding/json accepts.
package jsonstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A SyntaxError says that what was read is no valid JSON, or not what was expected.
type SyntaxError struct {
	Offset int64 // in bytes from the beginning
	Want   string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: want %s", e.Offset, e.Want) }

// Reader reads one JSON value after the other. Each method reads one value, completely, and fails with a *SyntaxError,
// with io.ErrUnexpectedEOF when there is less, or with what reading the input failed with. After an error it is of no
// more use.
type Reader struct {
	decoder *jsontext.Decoder
	text    []byte // the latest that was written with escapes
}

// NewReader reads from in, which it reads further than it needs.
func NewReader(in io.Reader) *Reader {
	return &Reader{decoder: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))}
}

// told makes errors of the decoder ours.
func told(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	if syntax, is := errors.AsType[*jsontext.SyntacticError](err); is {
		return &SyntaxError{Offset: syntax.ByteOffset, Want: fmt.Sprintf("valid JSON: %v", syntax.Err)}
	}
	return err
}

// next is the kind of the next value, or the error that there is none.
func (r *Reader) next() (jsontext.Kind, error) {
	kind := r.decoder.PeekKind()
	if kind != jsontext.KindInvalid {
		return kind, nil
	}
	_, err := r.decoder.ReadToken()
	return kind, told(err)
}

// wrong is the error about the next value.
func (r *Reader) wrong(want string) error {
	value, err := r.decoder.ReadValue()
	if err != nil {
		return told(err)
	}
	return &SyntaxError{Offset: r.decoder.InputOffset() - int64(len(value)), Want: want}
}

// End checks that nothing follows.
func (r *Reader) End() error {
	_, err := r.decoder.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return &SyntaxError{Offset: r.decoder.InputOffset(), Want: "the end before it"}
	}
	return told(err)
}

// Each reads a list. It calls read for each item, which reads it. null is an empty list.
func (r *Reader) Each(read func() error) error {
	return r.nested(jsontext.KindBeginArray, jsontext.KindEndArray, "a list", read)
}

// Fields reads an object. It calls read for each field, which reads the value; the name is valid until then. null is an
// object without fields.
func (r *Reader) Fields(read func(name []byte) error) error {
	return r.nested(jsontext.KindBeginObject, jsontext.KindEndObject, "an object", func() error {
		name, err := r.Text()
		if err != nil {
			return err
		}
		return read(name)
	})
}

// nested reads what is between two brackets.
func (r *Reader) nested(begin, end jsontext.Kind, want string, read func() error) error {
	kind, err := r.next()
	switch {
	case err != nil:
		return err
	case kind == jsontext.KindNull:
		return r.Skip()
	case kind != begin:
		return r.wrong(want)
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return told(err)
	}
	for {
		kind, err := r.next()
		switch {
		case err != nil:
			return err
		case kind == end:
			_, err := r.decoder.ReadToken()
			return err
		}
		if err := read(); err != nil {
			return err
		}
	}
}

// Text reads a string; null is an empty one. The result is valid until the next call.
func (r *Reader) Text() ([]byte, error) {
	kind, err := r.next()
	switch {
	case err != nil:
		return nil, err
	case kind == jsontext.KindNull:
		return nil, r.Skip()
	case kind != jsontext.KindString:
		return nil, r.wrong("a string")
	}
	quoted, err := r.decoder.ReadValue()
	if err != nil {
		return nil, told(err)
	}
	if !bytes.ContainsRune(quoted, '\\') {
		return quoted[1 : len(quoted)-1], nil
	}
	r.text, err = jsontext.AppendUnquote(r.text[:0], quoted)
	return r.text, told(err)
}

// Raw returns the value as it is written. The result is valid until the next call.
func (r *Reader) Raw() ([]byte, error) {
	value, err := r.decoder.ReadValue()
	return value, told(err)
}

// Skip reads a value that is not needed.
func (r *Reader) Skip() error { return told(r.decoder.SkipValue()) }
