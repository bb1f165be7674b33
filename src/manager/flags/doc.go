// Package flags compares the flags of the program with the flags of Kubernetes' own cloud controller manager. The
// comparison is in a package of its own, because linking the library's command also registers the library's metrics,
// and other tests need the program's own metrics.
package flags
