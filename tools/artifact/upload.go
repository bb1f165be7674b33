package artifact

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// aboutDigest is a tag that stands for no version but for a digest: of a signature (cosign's "sha256-….sig"), or of a
// list of what is attached.
var aboutDigest = regexp.MustCompile(`^sha256-[0-9a-f]{64}`)

// again is what to do about an upload that failed.
const again = "run it again to go on, after logging in with docker, podman or skopeo if the registry requires that"

// versioned reports whether an entry has a tag that people ask for.
func (e Entry) versioned() bool { return e.Tag != "" && !aboutDigest.MatchString(e.Tag) }

// TakenError says that tags would have to be moved. Nothing was uploaded.
type TakenError struct{ Tags []Taken }

// Taken is a tag that is on something else already.
type Taken struct {
	Entry Entry   // what was to get the tag
	Name  string  // with registry and tag
	On    v1.Hash // what has it
}

// Error names every tag and both digests.
func (e *TakenError) Error() string {
	tags := make([]string, 0, len(e.Tags))
	for _, tag := range e.Tags {
		tags = append(tags, fmt.Sprintf("%s is on %s, not on %s", tag.Name, tag.On, tag.Entry.Descriptor.Digest))
	}
	return "a tag is never moved: " + strings.Join(tags, "; ")
}

// Push uploads everything in a store, as Upload does.
func (r Registry) Push(ctx context.Context, s Store, done func(Entry)) error {
	entries, err := s.Entries()
	if err != nil {
		return err
	}
	return r.Upload(ctx, entries, func(_ context.Context, e Entry) (remote.Taggable, error) { return s.Read(e) }, done)
}

// Upload puts artifacts that read returns into the registry, and calls done for each that is there under its name.
// First comes the content of all, with signatures and what is attached; then versions get their tags, in the order of
// the entries: whatever a tag names is complete. What is there already is not uploaded again, so that an upload that
// was interrupted is completed by another. It fails with a TakenError, before it uploads anything, when a version's tag
// is on something else.
func (r Registry) Upload(ctx context.Context, entries []Entry,
	read func(context.Context, Entry) (remote.Taggable, error), done func(Entry)) error {
	if err := r.free(ctx, entries, true); err != nil {
		return err
	}
	// What a registry grants to those who ask for a repository before it is there may be nothing, and is kept.
	r = At(r.base)
	contents := make([]remote.Taggable, 0, len(entries))
	for _, entry := range entries {
		content, err := read(ctx, entry)
		if err != nil {
			return err
		}
		if err := r.content(ctx, entry, content); err != nil {
			return err
		}
		if !entry.versioned() {
			done(entry)
		}
		contents = append(contents, content)
	}
	// Again: uploading takes minutes, in which others may have done the same.
	if err := r.free(ctx, entries, false); err != nil {
		return err
	}
	for i, entry := range entries {
		if !entry.versioned() {
			continue
		}
		if err := r.tag(ctx, entry, contents[i]); err != nil {
			return err
		}
		done(entry)
	}
	return nil
}

// Put uploads one artifact under a tag. Other than Upload it moves the tag: it is for what is built again and again,
// not for releases.
func (r Registry) Put(ctx context.Context, repository, tag string, content remote.Taggable) error {
	to, err := name.NewTag(r.Repository(repository) + ":" + tag)
	if err != nil {
		return fmt.Errorf("uploading to %s: %w", r.base, err)
	}
	if err := remote.Push(to, content, r.with(ctx)...); err != nil {
		return fmt.Errorf("uploading %s: %w; %s", to, err, again)
	}
	return nil
}

// free fails when a version's tag is on something else. A registry that does not say so refuses those who ask for
// a repository that is not there yet, or has no right to write to it either: at first that counts as free.
func (r Registry) free(ctx context.Context, entries []Entry, first bool) error {
	var taken []Taken
	for _, entry := range entries {
		if !entry.versioned() {
			continue
		}
		got, err := r.Get(ctx, entry.Repository, entry.Tag)
		if status := refusal(err); status == http.StatusNotFound || first && (status == http.StatusForbidden ||
			status == http.StatusUnauthorized) {
			continue
		}
		if err != nil {
			return fmt.Errorf("checking what has a tag already: %w", err)
		}
		if got.Digest != entry.Descriptor.Digest {
			taken = append(taken, Taken{Entry: entry, Name: r.Repository(entry.Repository) + ":" + entry.Tag,
				On: got.Digest})
		}
	}
	if len(taken) > 0 {
		return &TakenError{taken}
	}
	return nil
}

// refusal is the HTTP status with which a registry refused something, 0 if it did not.
func refusal(err error) int {
	if refused, is := errors.AsType[*transport.Error](err); is {
		return refused.StatusCode
	}
	return 0
}

// content uploads an artifact without the tag of its version.
func (r Registry) content(ctx context.Context, e Entry, content remote.Taggable) error {
	subject, err := subjectOf(content)
	if err != nil {
		return fmt.Errorf("uploading to %s: %w", r.Repository(e.Repository), err)
	}
	if subject != nil {
		return r.attach(ctx, e, subject.Digest, content)
	}
	var to name.Reference
	if e.Tag == "" || e.versioned() {
		to, err = name.NewDigest(r.Repository(e.Repository) + "@" + e.Descriptor.Digest.String())
	} else {
		to, err = name.NewTag(r.Repository(e.Repository) + ":" + e.Tag)
	}
	if err == nil {
		err = remote.Push(to, content, r.with(ctx)...)
	}
	return r.uploaded(e, err)
}

// tag gives content that is there the tag of its version.
func (r Registry) tag(ctx context.Context, e Entry, content remote.Taggable) error {
	to, err := name.NewTag(r.Repository(e.Repository) + ":" + e.Tag)
	if err != nil {
		return r.uploaded(e, err)
	}
	if got, err := r.Get(ctx, e.Repository, e.Tag); err == nil && got.Digest == e.Descriptor.Digest {
		return nil
	}
	return r.uploaded(e, remote.Tag(to, content, r.with(ctx)...))
}

// uploaded says what to do about an error.
func (r Registry) uploaded(e Entry, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("uploading %s@%s: %w; %s", r.Repository(e.Repository), e.Descriptor.Digest, err, again)
}
