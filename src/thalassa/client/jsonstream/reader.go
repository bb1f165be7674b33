// Package jsonstream reads large JSON lists of which little is needed. What is skipped is checked, and neither copied nor decoded, so
// that a list of a million attachments costs a second and no memory:
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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// A SyntaxError says that what was read is no valid JSON.
type SyntaxError struct {
	Offset int64 // in bytes from the beginning
	Want   string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: want %s", e.Offset, e.Want) }

const (
	firstBuffer = 64 << 10
	// maxDepth bounds what is nested, as in encoding/json.
	maxDepth = 10000
)

// Reader reads one JSON value after the other. Each method reads one value, completely, and fails with a *SyntaxError, with
// io.ErrUnexpectedEOF when there is less, or with what reading the input failed with. After an error it is of no more use.
type Reader struct {
	in   io.Reader
	buf  []byte // what was read, up to its length
	pos  int    // what of it was looked at
	mark int    // from where on it is still needed, besides what was not looked at; -1: nothing is
	read int64  // bytes of the input before the buffer
	deep int
}

// NewReader reads from in, which it reads further than it needs.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: in, buf: make([]byte, 0, firstBuffer), mark: -1}
}

// fill reads more of the input.
func (r *Reader) fill() error {
	keep := r.pos
	if r.mark >= 0 {
		keep = r.mark
		r.mark = 0
	}
	rest := copy(r.buf[:cap(r.buf)], r.buf[keep:])
	r.buf, r.pos, r.read = r.buf[:rest], r.pos-keep, r.read+int64(keep)
	if rest == cap(r.buf) {
		larger := make([]byte, rest, 2*cap(r.buf))
		copy(larger, r.buf)
		r.buf = larger
	}
	for {
		n, err := r.in.Read(r.buf[rest:cap(r.buf)])
		r.buf = r.buf[:rest+n]
		if n > 0 || err != nil {
			return errIfNothing(n, err)
		}
	}
}

// errIfNothing leaves an error that came with content to the next call.
func errIfNothing(n int, err error) error {
	if n > 0 {
		return nil
	}
	return err
}

// next is the first byte that is no white space, which stays unread. The error is io.EOF at the end.
func (r *Reader) next() (byte, error) {
	for {
		for r.pos < len(r.buf) {
			switch c := r.buf[r.pos]; c {
			case ' ', '\t', '\r', '\n':
				r.pos++
			default:
				return c, nil
			}
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
}

// begin is next for the beginning of a value, or what else must follow.
func (r *Reader) begin() (byte, error) {
	c, err := r.next()
	return c, midway(err)
}

// take is the next byte, white space or not.
func (r *Reader) take() (byte, error) {
	if r.pos == len(r.buf) {
		if err := r.fill(); err != nil {
			return 0, midway(err)
		}
	}
	c := r.buf[r.pos]
	r.pos++
	return c, nil
}

// midway makes an error of an end where something must follow.
func midway(err error) error {
	if err == io.EOF { //nolint:errorlint // readers return io.EOF itself
		return io.ErrUnexpectedEOF
	}
	return err
}

// wrong is the error about the byte that was looked at last.
func (r *Reader) wrong(want string) error {
	return &SyntaxError{Offset: r.read + int64(r.pos), Want: want}
}

// expect reads one byte.
func (r *Reader) expect(want byte) error {
	c, err := r.begin()
	switch {
	case err != nil:
		return err
	case c != want:
		return r.wrong(fmt.Sprintf("%q", want))
	}
	r.pos++
	return nil
}

// End checks that nothing follows.
func (r *Reader) End() error {
	switch _, err := r.next(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return r.wrong("the end")
	}
}

// Null reads null, and says whether it was there.
func (r *Reader) Null() (bool, error) {
	c, err := r.begin()
	if err != nil || c != 'n' {
		return false, err
	}
	return true, r.Skip()
}

// Each reads a list. It calls read for each item, which reads it. null is an empty list.
func (r *Reader) Each(read func() error) error {
	if null, err := r.Null(); null || err != nil {
		return err
	}
	return r.nested('[', ']', read)
}

// Fields reads an object. It calls read for each field, which reads the value; the name is valid until then. null is an object without
// fields.
func (r *Reader) Fields(read func(name []byte) error) error {
	if null, err := r.Null(); null || err != nil {
		return err
	}
	return r.nested('{', '}', func() error {
		name, err := r.text()
		if err != nil {
			return err
		}
		return read(name)
	})
}

// nested reads what is between two brackets, separated by commas.
func (r *Reader) nested(open, end byte, read func() error) error {
	if err := r.expect(open); err != nil {
		return err
	}
	if r.deep++; r.deep > maxDepth {
		return r.wrong("less nesting")
	}
	c, err := r.begin()
	for first := true; err == nil && (c != end || !first); first = false {
		if !first {
			if err := r.expect(','); err != nil {
				return err
			}
		}
		if err := read(); err != nil {
			return err
		}
		if c, err = r.begin(); c == end {
			break
		}
	}
	if err != nil {
		return err
	}
	r.deep--
	return r.expect(end)
}

// text reads a field's name and the colon after it.
func (r *Reader) text() ([]byte, error) {
	if err := r.isText(); err != nil {
		return nil, err
	}
	raw, err := r.Raw()
	if err != nil {
		return nil, err
	}
	name, err := unquoted(raw)
	if err != nil {
		return nil, err
	}
	if r.pos < len(r.buf) && r.buf[r.pos] == ':' {
		r.pos++ // the usual case, in which the name stays where it is
		return name, nil
	}
	name = append([]byte(nil), name...)
	return name, r.expect(':')
}

func (r *Reader) isText() error {
	c, err := r.begin()
	if err == nil && c != '"' {
		return r.wrong("a string")
	}
	return err
}

// Text reads a string; null is an empty one. The result is valid until the next call.
func (r *Reader) Text() ([]byte, error) {
	if null, err := r.Null(); null || err != nil {
		return nil, err
	}
	if err := r.isText(); err != nil {
		return nil, err
	}
	raw, err := r.Raw()
	if err != nil {
		return nil, err
	}
	return unquoted(raw)
}

// unquoted is what a string in quotes says.
func unquoted(raw []byte) ([]byte, error) {
	plain := raw[1 : len(raw)-1]
	for _, c := range plain {
		if c == '\\' || c >= utf8.RuneSelf {
			var text string
			err := json.Unmarshal(raw, &text)
			return []byte(text), err
		}
	}
	return plain, nil
}

// Raw returns the value as it is written. The result is valid until the next call.
func (r *Reader) Raw() ([]byte, error) {
	if _, err := r.begin(); err != nil {
		return nil, err
	}
	r.mark = r.pos
	err := r.Skip()
	raw := r.buf[max(r.mark, 0):r.pos]
	r.mark = -1
	return raw, err
}
