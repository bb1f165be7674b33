package client

import "context"

// optionalKey marks calls that a process can do without.
type optionalKey struct{}

// Optional marks the calls made with the returned context as some that only few need: that they are not permitted does
// not speak against the credentials, see Client.Err.
func Optional(ctx context.Context) context.Context {
	return context.WithValue(ctx, optionalKey{}, true)
}

func isOptional(ctx context.Context) bool {
	optional, _ := ctx.Value(optionalKey{}).(bool)
	return optional
}
