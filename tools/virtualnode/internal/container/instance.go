// Package container keeps one container of a pod running: starts it, probes its readiness, restarts
// it and reports its state. What a container really is, a process or a server inside this process,
// is behind Instance.
package container

import "time"

// Instance is one run of a container.
type Instance interface {
	// Done is closed when the run is over.
	Done() <-chan struct{}
	// Exit says how the run ended; valid once Done is closed.
	Exit() Exit
	// Stop asks the run to end, and makes it end after the grace period. It returns when the run
	// is over and may be called again meanwhile with a shorter grace.
	Stop(grace time.Duration)
}

// Exit is how a run ended.
type Exit struct {
	// Code is the exit status as a shell shows it: 128 + n for signal n.
	Code int32
	// Signal is the signal that ended the run, 0 for none.
	Signal int32
	// Log is the end of what it wrote.
	Log string
}

// Reasons of a waiting container, in kubelet's words.
const (
	ReasonCreating  = "ContainerCreating"
	ReasonConfig    = "CreateContainerConfigError"
	ReasonRun       = "RunContainerError"
	ReasonImagePull = "ImagePullBackOff"
)

// WaitError says why a container cannot be started now. Any other error from Config.Start is
// reported with ReasonRun.
type WaitError struct {
	// Reason is the reason in the container's waiting state.
	Reason string
	// Event is the reason of the event. Default: Failed.
	Event string
	Err   error
}

// Error is the message that users see.
func (e *WaitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *WaitError) Unwrap() error { return e.Err }
