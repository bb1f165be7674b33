// Package reference proves that the pages under docs/reference name what the code has, no more and no less, where they
// are written by hand, or made of parts of the program only.
package reference
