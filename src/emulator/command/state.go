package command

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/statefile"
)

// saveEvery is how often the state is written at most.
const saveEvery = time.Second

// keeper writes the state of an emulator to a file. Without a file, it does nothing.
type keeper struct {
	file *statefile.File
	// found: there was a state at the start.
	found bool
	state emulator.Seed
}

// openState locks and reads the state file, whose content takes the place of the seed.
func (o *options) openState(log *slog.Logger) (*keeper, error) {
	if o.state == "" {
		return &keeper{}, nil
	}
	file, err := statefile.Open(o.state)
	if err != nil {
		return nil, err
	}
	state, found, err := file.Read()
	if err != nil {
		return nil, closing(err, file)
	}
	if found {
		if o.seed != "" || o.machines > 0 {
			log.Info("--seed and --machines are ignored, because the state file exists", "state", o.state)
		}
		o.seed, o.machines = "", 0
	}
	return &keeper{file: file, found: found, state: state}, nil
}

// damaged says that the emulator cannot start with the content of the file, if that is why it did not start.
func (k *keeper) damaged(err error) error {
	if _, is := errors.AsType[*seed.Error](err); !is || k.file == nil || !k.found {
		return err
	}
	return k.file.Damaged(err)
}

// save writes the state now.
func (k *keeper) save(cloud *emulator.Emulator) error {
	if k.file == nil {
		return nil
	}
	return k.file.Write(cloud.Seed())
}

// watch writes the state after changes until the context ends. What fails is tried again.
func (k *keeper) watch(ctx context.Context, cloud *emulator.Emulator, saved uint64, log *slog.Logger) {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := cloud.Revision()
		if k.file == nil || now == saved {
			continue
		}
		if err := k.save(cloud); err != nil {
			log.Error("the state was not saved, and is tried again", "error", err)
			continue
		}
		saved = now
	}
}

// Close lets other processes use the file.
func (k *keeper) Close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}

// kept serves with act, and writes the state meanwhile and at the end.
func (k *keeper) kept(ctx context.Context, cloud *emulator.Emulator, log *slog.Logger, act func() error) error {
	saved := cloud.Revision()
	if err := k.save(cloud); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.watch(watching, cloud, saved, log)
	}()
	err := act()
	stop()
	<-done
	return errors.Join(err, k.save(cloud))
}
