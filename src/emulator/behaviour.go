package emulator

import (
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/behaviour"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/requestlog"
)

type (
	// Switches choose between behaviours that no public source settles, see [behaviour.Switches].
	Switches = behaviour.Switches
	// Delays are how long the cloud takes, see [behaviour.Delays].
	Delays = behaviour.Delays
	// UpdateMode says what PUT does to settings its body leaves out, see [behaviour.UpdateMode].
	UpdateMode = behaviour.UpdateMode
	// InlineListeners says what creating a load balancer does with listeners, see [behaviour.InlineListeners].
	InlineListeners = behaviour.InlineListeners
	// RouteAnswer is what creating and changing one route answers with, see [behaviour.RouteAnswer].
	RouteAnswer = behaviour.RouteAnswer
	// DoneBody is the body of answers without content, see [behaviour.DoneBody].
	DoneBody = behaviour.DoneBody
	// Write is an entry of the log of writes, see [requestlog.Write].
	Write = requestlog.Write
)

// The values of the switches, see package behaviour.
const (
	Replace    = behaviour.Replace
	ReplaceAll = behaviour.ReplaceAll
	Merge      = behaviour.Merge

	AcceptListeners = behaviour.AcceptListeners
	IgnoreListeners = behaviour.IgnoreListeners
	RefuseListeners = behaviour.RefuseListeners

	AnswerRoute   = behaviour.AnswerRoute
	AnswerTable   = behaviour.AnswerTable
	AnswerNothing = behaviour.AnswerNothing

	NoBody     = behaviour.NoBody
	NullBody   = behaviour.NullBody
	ObjectBody = behaviour.ObjectBody
	ListBody   = behaviour.ListBody
)
