package generate

import (
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"
)

const (
	// eventFolder has a page for each Warning, which a person writes but for the messages at its end.
	eventFolder = "docs/events"
	// eventTextsFile is the file of a package with the reasons of its events, each followed by its texts.
	eventTextsFile = "texts.go"
	// messagesHeading begins the part of a page that is generated.
	messagesHeading = "\n## Messages\n"
	// madeOfTexts is the note in the generated part.
	madeOfTexts = `<!-- Made by "make generate" from the files texts.go in src. -->`
	// lineWidth is that of the generated lines.
	lineWidth = 140
)

// eventMessages generates the end of each page in docs/events: the texts that the event may have.
func eventMessages() Generator {
	files := func(ctx context.Context, root string) (map[string][]byte, error) {
		pages, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(eventFolder), "*.md"))
		if err != nil || len(pages) == 0 {
			return nil, err
		}
		texts, err := readEventTexts(ctx, root)
		if err != nil {
			return nil, err
		}
		files := map[string][]byte{}
		for _, path := range pages {
			page, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			name := filepath.Base(path)
			written, _, _ := strings.Cut(string(page), messagesHeading)
			files[eventFolder+"/"+name] = []byte(strings.TrimRight(written, "\n") + "\n" +
				texts[strings.TrimSuffix(name, ".md")].section())
		}
		return files, nil
	}
	return Generator{Name: "messages of events", Files: files}
}

// eventTexts are the texts of the events with one reason.
type eventTexts struct {
	messages, parts []string
}

// verb is one of a format.
var verb = regexp.MustCompile(`%(\[\d\])?[svdqw]`)

// section returns the generated part of a page; "" if there are no texts.
func (e eventTexts) section() string {
	if len(e.messages) == 0 {
		return ""
	}
	section := messagesHeading + "\n" + madeOfTexts + "\n\n" + bullets(e.messages)
	if len(e.parts) > 0 {
		section += "\nIn place of …, or at its end, such a message may contain:\n\n" + bullets(e.parts)
	}
	return section
}

// bullets returns texts as a list in Markdown, sorted.
func bullets(texts []string) string {
	var list strings.Builder
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		line := "*"
		for word := range strings.FieldsSeq(text) {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineWidth {
				list.WriteString(line + "\n")
				line = " "
			}
			line += " " + word
		}
		list.WriteString(line + "\n")
	}
	return list.String()
}

// readEventTexts reads the texts of all packages, by reason.
func readEventTexts(ctx context.Context, root string) (map[string]eventTexts, error) {
	var folders []string
	err := filepath.WalkDir(filepath.Join(root, "src"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == eventTextsFile {
			folders = append(folders, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: root, Mode: mode}, folders...)
	if err != nil {
		return nil, fmt.Errorf("reading the texts of events: %w", err)
	}
	found := map[string]eventTexts{}
	for _, one := range loaded {
		if len(one.Errors) > 0 {
			return nil, fmt.Errorf("reading the texts of events: %w", one.Errors[0])
		}
		for _, file := range one.Syntax {
			if filepath.Base(one.Fset.File(file.Pos()).Name()) == eventTextsFile {
				addTexts(file, one.TypesInfo, found)
			}
		}
	}
	return found, nil
}

// addTexts adds the texts of a file to those of their reasons: each belongs to the reason before it. A name that begins
// with text is that of a message, any other one that of a part.
func addTexts(file *ast.File, info *types.Info, found map[string]eventTexts) {
	reason := ""
	ast.Inspect(file, func(node ast.Node) bool {
		spec, is := node.(*ast.ValueSpec)
		if !is {
			return true
		}
		name := spec.Names[0]
		known, is := info.Defs[name].(*types.Const)
		if !is {
			return false
		}
		text := constant.StringVal(known.Val())
		shown := strings.ReplaceAll(verb.ReplaceAllString(text, "…"), "%%", "%")
		if strings.HasPrefix(name.Name, "reason") {
			reason = text
		}
		one := found[reason]
		switch {
		case strings.HasPrefix(name.Name, "text"):
			one.messages = append(one.messages, shown)
		case !strings.HasPrefix(name.Name, "reason") && !strings.HasPrefix(text, ", "): // the end of several messages
			one.parts = append(one.parts, strings.TrimLeft(shown, ".; "))
		}
		found[reason] = one
		return false
	})
}
