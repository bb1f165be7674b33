package release

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/thalassa-cloud/thalassa-ccm/tools/artifact"
)

// Publish uploads the release below folder to a registry. One that was interrupted is completed by another.
func Publish(ctx context.Context, folder string, to artifact.Registry, tell io.Writer) error {
	store, err := artifact.Open(filepath.Join(folder, storeFolder))
	if err != nil {
		return err
	}
	return to.Push(ctx, store, func(entry artifact.Entry) {
		_, _ = fmt.Fprintf(tell, "%s@%s\n", to.Repository(entry.Repository), entry.Descriptor.Digest)
	})
}
