package jsonstream

import (
	"cmp"
	"io"
	"strings"
)

// Skip reads a value of any kind and checks it.
func (r *Reader) Skip() error {
	c, err := r.begin()
	switch {
	case err != nil:
		return err
	case c == '{':
		return r.nested('{', '}', r.skipField)
	case c == '[':
		return r.nested('[', ']', r.Skip)
	case c == '"':
		return r.skipText()
	case c == 't':
		return r.literal("true")
	case c == 'f':
		return r.literal("false")
	case c == 'n':
		return r.literal("null")
	}
	return r.skipNumber()
}

func (r *Reader) skipField() error {
	if err := r.isText(); err != nil {
		return err
	}
	if err := r.skipText(); err != nil {
		return err
	}
	if err := r.expect(':'); err != nil {
		return err
	}
	return r.Skip()
}

// skipText reads a string, whose quote is next.
func (r *Reader) skipText() error {
	r.pos++
	for {
		switch c, err := r.special(); {
		case err != nil:
			return err
		case c == '"':
			return nil
		case c != '\\':
			return r.wrong("no control character in a string")
		}
		if err := r.escape(); err != nil {
			return err
		}
	}
}

// special reads on to what is no ordinary character of a string.
func (r *Reader) special() (byte, error) {
	for {
		for i, c := range r.buf[r.pos:] {
			if c == '"' || c == '\\' || c < ' ' {
				r.pos += i + 1
				return c, nil
			}
		}
		r.pos = len(r.buf)
		if err := r.fill(); err != nil {
			return 0, midway(err)
		}
	}
}

// escape reads what follows a backslash.
func (r *Reader) escape() error {
	c, err := r.take()
	switch {
	case err != nil:
		return err
	case c != 'u':
		if strings.IndexByte(`"\/bfnrt`, c) < 0 {
			return r.wrong("an escape of JSON")
		}
		return nil
	}
	for range 4 {
		c, err := r.take()
		if err != nil {
			return err
		}
		if !isHex(c) {
			return r.wrong("a hexadecimal digit")
		}
	}
	return nil
}

func isHex(c byte) bool {
	return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (r *Reader) literal(word string) error {
	for i := range len(word) {
		if c, err := r.take(); err != nil || c != word[i] {
			return cmp.Or(err, r.wrong(word))
		}
	}
	return nil
}

// skipNumber reads a number: -12.5e+3.
func (r *Reader) skipNumber() error {
	if c, err := r.peek(); err == nil && c == '-' {
		r.pos++
	}
	c, err := r.peek()
	if err == nil && c == '0' {
		r.pos++
	} else if err := r.digits(); err != nil {
		return err
	}
	if c, err = r.peek(); err == nil && c == '.' {
		r.pos++
		if err := r.digits(); err != nil {
			return err
		}
		c, err = r.peek()
	}
	if err == nil && (c == 'e' || c == 'E') {
		r.pos++
		if c, err = r.peek(); err == nil && (c == '+' || c == '-') {
			r.pos++
		}
		return r.digits()
	}
	if err != nil && err != io.EOF { //nolint:errorlint // readers return io.EOF itself
		return err
	}
	return nil
}

// peek is the next byte, which stays unread. The error is io.EOF at the end.
func (r *Reader) peek() (byte, error) {
	if r.pos == len(r.buf) {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	return r.buf[r.pos], nil
}

// digits reads at least one.
func (r *Reader) digits() error {
	for some := false; ; some = true {
		c, err := r.peek()
		switch {
		case err == nil && isDigit(c):
			r.pos++
		case some && (err == nil || err == io.EOF): //nolint:errorlint // readers return io.EOF itself
			return nil
		case err != nil:
			return midway(err)
		default:
			return r.wrong("a digit")
		}
	}
}
