// Package plugin proves with a real API server that kubectl thalassa writes nothing where it only reads, deletes
// only orphans, and that the documented permissions are sufficient: the logs of both APIs contain what it did.
package plugin
