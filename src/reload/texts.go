package reload

// The reasons of events about secrets, each with its text. The page of the warning is in docs/events.
const (
	reasonReloaded = "CloudSecretsReloaded"
	textReloaded   = "The new secrets are in use for calls to the cloud: %s"

	reasonNotReloaded = "CloudSecretsNotReloaded"
	textNotReloaded   = "The files with the secrets for the cloud have changed, but the new secrets cannot be " +
		"used. The previous ones stay in use: %v"
)
