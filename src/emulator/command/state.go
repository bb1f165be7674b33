package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/seed"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/statefile"
)

// saveEvery is how often the state is written at most.
const saveEvery = time.Second

// saver writes the state of an emulator to a file. Without a file, it does nothing.
type saver struct {
	file *statefile.File
	// found: there was a state at the start.
	found bool
	state emulator.Seed
}

// openState locks and reads the state file, whose content takes the place of the seed.
func (o *options) openState(log *slog.Logger) (*saver, error) {
	if o.state == "" {
		return &saver{}, nil
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
	return &saver{file: file, found: found, state: state}, nil
}

// inFile names the file of the state or the seed, if its content is why the emulator did not start.
func (o *options) inFile(s *saver, err error) error {
	_, content := errors.AsType[*seed.Error](err)
	switch {
	case content && s.found:
		return s.file.Damaged(err)
	case content && o.seed != "":
		return fmt.Errorf("--seed=%s: %w", o.seed, err)
	}
	return fmt.Errorf("starting the cloud: %w", err)
}

// save writes the state now.
func (s *saver) save(cloud *emulator.Emulator) error {
	if s.file == nil {
		return nil
	}
	return s.file.Write(cloud.Seed())
}

// watch writes the state after changes until the context ends. What fails is tried again.
func (s *saver) watch(ctx context.Context, cloud *emulator.Emulator, saved uint64, log *slog.Logger) {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := cloud.Revision()
		if s.file == nil || now == saved {
			continue
		}
		if err := s.save(cloud); err != nil {
			log.Error("the state was not saved, and is tried again", "error", err)
			continue
		}
		saved = now
	}
}

// Close lets other processes use the file.
func (s *saver) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// during serves with act, and writes the state meanwhile and at the end.
func (s *saver) during(ctx context.Context, cloud *emulator.Emulator, log *slog.Logger, act func() error) error {
	saved := cloud.Revision()
	if err := s.save(cloud); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.watch(watching, cloud, saved, log)
	}()
	err := act()
	stop()
	<-done
	return errors.Join(err, s.save(cloud))
}
