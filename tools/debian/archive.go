package debian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// EnvMirror is the variable with the address of a mirror that is used instead of deb.debian.org. Debian's archives are
// below it, with the names that they have there: debian and debian-security.
const EnvMirror = "DEBIAN_MIRROR"

// longest is the time limit for one download. The largest file, the list of all packages, has 10 MB.
const longest = 5 * time.Minute

// Archive is where packages are downloaded from, and the folder in which they are kept.
type Archive struct {
	Mirror   string // address of current packages
	Snapshot string // address of all packages that there ever were, for versions that Mirror has no more
	Cache    string // folder; packages in it are named by their digest
}

// NewArchive returns Debian's own servers, or the mirror that the environment names, and the user's cache.
func NewArchive() (Archive, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Archive{}, fmt.Errorf("searching the folder for downloaded packages of Debian: %w", err)
	}
	a := Archive{Mirror: "https://deb.debian.org", Snapshot: "https://snapshot.debian.org",
		Cache: filepath.Join(cache, "thalassa-ccm", "debian")}
	if mirror := os.Getenv(EnvMirror); mirror != "" {
		a.Mirror = strings.TrimSuffix(mirror, "/")
	}
	return a, nil
}

// fetch returns the content of a package, which has the pinned digest.
func (a Archive) fetch(ctx context.Context, p Package) ([]byte, error) {
	cached := filepath.Join(a.Cache, p.SHA256+".deb")
	if content, err := os.ReadFile(cached); err == nil && p.verify(content) == nil {
		return content, nil
	}
	content, err := a.download(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("downloading the Debian package %s: %w\nIf Debian has this version no more, "+
			"make pin-packages pins the current ones. %s=address selects a mirror", p, err, EnvMirror)
	}
	if err := os.MkdirAll(a.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("keeping the Debian package %s: %w", p, err)
	}
	if err := renameio.WriteFile(cached, content, 0o644); err != nil {
		return nil, fmt.Errorf("keeping the Debian package %s: %w", p, err)
	}
	return content, nil
}

// download takes a package from the first place that has it.
func (a Archive) download(ctx context.Context, p Package) ([]byte, error) {
	var problems []error
	for _, address := range []string{a.Mirror + "/" + p.File, a.Snapshot + "/file/" + p.SHA1} {
		content, err := get(ctx, address)
		if err == nil {
			err = p.verify(content)
		}
		if err == nil {
			return content, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", address, err))
	}
	return nil, errors.Join(problems...)
}

// verify fails when content is not the pinned one.
func (p Package) verify(content []byte) error {
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != p.SHA256 {
		return fmt.Errorf("the SHA-256 is %s, want %s", got, p.SHA256)
	}
	return nil
}

// get returns what an address answers.
func get(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, errors.Unwrap(err) // without the address, which callers name
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return io.ReadAll(response.Body)
}
