package debian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFetch: from the mirror once, then from the cache.
func TestFetch(t *testing.T) {
	s := newServer(t)
	p := s.publish(t, "hello", "1.0-1")
	want := s.content["/mirror/"+p.File]
	for range 2 {
		content, err := s.fetch(t.Context(), p)
		if err != nil || string(content) != string(want) {
			t.Fatalf("%d bytes, %v; want %d", len(content), err, len(want))
		}
	}
	if got := s.requests.Load(); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
	// What is damaged in the cache is downloaded again.
	if err := os.WriteFile(filepath.Join(s.Cache, p.SHA256+".deb"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if content, err := s.fetch(t.Context(), p); err != nil || string(content) != string(want) {
		t.Errorf("%d bytes, %v; want %d", len(content), err, len(want))
	}
}

// TestFetchOldVersion: the mirror has it no more, snapshot.debian.org keeps it by its SHA-1.
func TestFetchOldVersion(t *testing.T) {
	s := newServer(t)
	p := s.publish(t, "hello", "1.0-1")
	content := s.content["/mirror/"+p.File]
	delete(s.content, "/mirror/"+p.File)
	s.content["/snapshot/file/"+p.SHA1] = content
	if got, err := s.fetch(t.Context(), p); err != nil || string(got) != string(content) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(content))
	}
}

func TestFetchRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(*server, *Package)
		want  []string
	}{
		"gone": {
			func(s *server, p *Package) { delete(s.content, "/mirror/"+p.File) },
			[]string{"hello 1.0-1", "/mirror/debian/pool/hello_1.0-1.deb: 404", "/snapshot/file/", "make pin-packages",
				"DEBIAN_MIRROR"},
		},
		"other content": {
			func(s *server, p *Package) { s.content["/mirror/"+p.File] = []byte("other") },
			[]string{"hello 1.0-1",
				"the SHA-256 is d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, want "},
		},
		"no server": {
			func(s *server, _ *Package) { s.Mirror = "http://127.0.0.1:1" },
			[]string{"hello 1.0-1", "http://127.0.0.1:1/debian/pool/hello_1.0-1.deb: dial tcp"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			p := s.publish(t, "hello", "1.0-1")
			tt.spoil(s, &p)
			_, err := s.fetch(t.Context(), p)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if kept, _ := os.ReadDir(s.Cache); len(kept) > 0 {
				t.Errorf("the cache has %v", kept)
			}
		})
	}
}

func TestNewArchive(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	t.Setenv(EnvMirror, "")
	got, err := NewArchive()
	want := Archive{Mirror: "https://deb.debian.org", Snapshot: "https://snapshot.debian.org",
		Cache: "/cache/thalassa-ccm/debian"}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	t.Setenv(EnvMirror, "http://mirror.example.com/x/")
	if got, err := NewArchive(); err != nil || got.Mirror != "http://mirror.example.com/x" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestPin takes the newest version of all lists, and that of the first list if two have it.
func TestPin(t *testing.T) {
	s := newServer(t)
	lists := lists("amd64")
	old, middle := s.publish(t, "hello", "1.0-9"), s.publish(t, "hello", "1.0-10")
	other, unwanted := s.publish(t, "other", "1:2"), s.publish(t, "unwanted", "3")
	s.list(t, lists[0], old, other, unwanted)
	s.list(t, lists[1], other)
	s.list(t, lists[2], middle, other)
	s.content["/mirror/debian-security/pool/hello_1.0-10.deb"] = s.content["/mirror/"+middle.File]
	middle.File = "debian-security/pool/hello_1.0-10.deb"
	lock, err := s.Pin(t.Context(), []string{"amd64"}, []string{"other", "hello"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "debian.json")
	if err := lock.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Lock{"amd64": {middle, other}}, got); diff != "" {
		t.Errorf("pinned (-want +got):\n%s", diff)
	}
}

func TestPinRefuses(t *testing.T) {
	s := newServer(t)
	refused := func(names []string, want string) {
		t.Helper()
		_, err := s.Pin(t.Context(), []string{"amd64"}, names)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	refused(nil, "binary-amd64: 404")
	p := s.publish(t, "hello", "1.0")
	for _, list := range lists("amd64") {
		s.list(t, list, p)
	}
	refused([]string{"hello", "missing"}, "there is no package missing")
	s.list(t, lists("amd64")[1], Package{Name: "hello", Version: "not a version", File: "debian/"})
	refused([]string{"hello"}, "reading the version of hello not a version")
	s.content["/mirror/"+lists("amd64")[0]+"/Packages.xz"] = []byte("this is not compressed")
	refused([]string{"hello"}, "binary-amd64: xz")
}

func TestReadLockRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "debian.json")
	if _, err := ReadLock(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLock(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}
