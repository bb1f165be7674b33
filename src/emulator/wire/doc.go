// Package wire holds the JSON shapes of the Thalassa Cloud API as the emulator
// writes and reads them.
//
// They are written from the API's observed behaviour, not from the vendor's
// client, so that client and server cannot share one mistake. Response types
// nest other objects one level deep at most: a nested object leaves its own
// lists and its own nested objects out, which keeps responses free of cycles.
//
// Request types use pointers and slices whose nil means "not sent": null, an
// absent key and (for lists) an empty list are the same to the API unless the
// update rules of the emulator say otherwise. Unknown request fields are ignored.
package wire
