// Package docs executes the shell commands of this repository's documents, as a reader does who pastes one block after
// another into a shell.
//
//	blocks, err := docs.Blocks(text)
//	shell := docs.Shell{Dir: folder, Env: docs.Environment(t, bin)}
//	output, log, err := shell.Run(ctx, blocks[0].Script)
//
// kubectl, helm and kustomize are those of this module: a test that runs a Shell calls Main in its TestMain.
package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a block of shell commands in a document.
type Block struct {
	// Line is the number of the first line after the fence.
	Line   int
	Script string
}

// Blocks returns the blocks of shell commands in a Markdown document, in their order, without the indentation that they
// have in a list.
func Blocks(text string) ([]Block, error) {
	fence := regexp.MustCompile("^((?: |[0-9]+\\. |[-*] )*)```(\\S*)")
	var found []Block
	open, shell, indent, opened := false, false, 0, 0
	for i, line := range strings.Split(text, "\n") {
		begins := fence.FindStringSubmatch(line)
		switch {
		case open && strings.TrimSpace(line) == "```":
			open = false
		case open && shell:
			last := &found[len(found)-1]
			last.Script += line[min(indent, len(line)-len(strings.TrimLeft(line, " "))):] + "\n"
		case !open && begins != nil:
			open, indent, opened = true, len(begins[1]), i+1
			if shell = isShell(begins[2]); shell {
				found = append(found, Block{Line: i + 2})
			}
		}
	}
	if open {
		return nil, fmt.Errorf("the block of line %d has no end: close it with ```", opened)
	}
	return found, nil
}

// Without returns the script without the commands that begin with a program, each with the lines that continue it.
func (b Block) Without(program string) string {
	command := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(program) + ` (?:.*\\\n)*.*\n`)
	return command.ReplaceAllString(b.Script, "")
}

// isShell returns whether a block in this language is of shell commands.
func isShell(language string) bool {
	switch language {
	case "sh", "bash", "shell", "console":
		return true
	}
	return false
}
