package openapitest

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// shaper computes the shapes of bodies in JSON. Numbers count only as zero or not zero, also those within strings,
// identities count as numbers, and lists only as the set of the shapes of their items. So bodies with the same shape
// differ in counters, times, addresses and identities, and in how often something is listed. A schema distinguishes
// them only by the bounds of numbers, and by the lengths of strings and lists. Names of fields count as they are.
type shaper struct {
	seed    maphash.Seed
	decoder *jsontext.Decoder
	reduced []byte // what is hashed, reused
}

// shapeOf returns the shape of a body. The error is that the body is no JSON.
func shapeOf(seed maphash.Seed, body []byte) (uint64, error) {
	s := &shaper{seed: seed, decoder: jsontext.NewDecoder(bytes.NewBuffer(body))}
	return s.next()
}

// next is the shape of the next value.
func (s *shaper) next() (uint64, error) {
	if kind := s.decoder.PeekKind(); kind == jsontext.KindBeginObject {
		return s.object()
	} else if kind == jsontext.KindBeginArray {
		return s.array()
	}
	value, err := s.decoder.ReadValue()
	return s.scalar(value), err
}

func (s *shaper) object() (uint64, error) {
	if _, err := s.decoder.ReadToken(); err != nil {
		return 0, err
	}
	shape := uint64(jsontext.KindBeginObject)
	for s.decoder.PeekKind() != jsontext.KindEndObject {
		name, err := s.decoder.ReadValue()
		if err != nil {
			return 0, err
		}
		key := maphash.Bytes(s.seed, name)
		value, err := s.next()
		if err != nil {
			return 0, err
		}
		shape = maphash.Comparable(s.seed, [3]uint64{shape, key, value})
	}
	_, err := s.decoder.ReadToken()
	return shape, err
}

func (s *shaper) array() (uint64, error) {
	if _, err := s.decoder.ReadToken(); err != nil {
		return 0, err
	}
	var items []uint64 // sorted
	for s.decoder.PeekKind() != jsontext.KindEndArray {
		item, err := s.next()
		if err != nil {
			return 0, err
		}
		if at, known := slices.BinarySearch(items, item); !known {
			items = slices.Insert(items, at, item)
		}
	}
	shape := uint64(jsontext.KindBeginArray)
	for _, item := range items {
		shape = maphash.Comparable(s.seed, [2]uint64{shape, item})
	}
	_, err := s.decoder.ReadToken()
	return shape, err
}

// scalar is the shape of a value that is no object and no list.
func (s *shaper) scalar(value []byte) uint64 {
	s.reduced = s.reduced[:0]
	word := 0 // where the current one begins
	for i, b := range value {
		if !isDigit(b) && !isLetter(b) {
			s.reduce(value[word:i])
			s.reduced, word = append(s.reduced, b), i+1
		}
	}
	s.reduce(value[word:])
	return maphash.Bytes(s.seed, s.reduced)
}

// identity is the length from which a word with a digit is an identity, which counts as a number. Shorter ones, as
// IPv6, keep their letters.
const identity = 8

// reduce appends a word to s.reduced, with one digit for each number.
func (s *shaper) reduce(word []byte) {
	const zero, other = '0', '1'
	if len(word) >= identity && bytes.ContainsAny(word, "123456789") {
		s.reduced = append(s.reduced, other)
		return
	}
	number := false // whether the byte before is a digit
	for _, b := range word {
		digit := isDigit(b)
		switch {
		case !digit:
			s.reduced = append(s.reduced, b)
		case !number:
			s.reduced = append(s.reduced, zero)
		}
		if digit && b != zero {
			s.reduced[len(s.reduced)-1] = other
		}
		number = digit
	}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
