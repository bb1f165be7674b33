// Package document executes the shell commands of this repository's documents, as a reader does who pastes one block
// after another into a shell.
//
//	blocks, err := document.Blocks(text)
//	shell := document.Shell{Dir: folder, Env: []string{"KUBECONFIG=" + kubeconfig}}
//	output, err := shell.Run(ctx, blocks[0].Script)
//
// kubectl, helm and kustomize are those of this module: a test that runs a Shell calls Main in its TestMain.
package document

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

// Without returns the script without the lines that are one command which leaveOut says.
func (b Block) Without(leaveOut func(command string) bool) string {
	var script strings.Builder
	for _, line := range regexp.MustCompile(`(?:.*\\\n)*.*\n`).FindAllString(b.Script, -1) {
		if commands := Lines(line); len(commands) != 1 || !leaveOut(commands[0]) {
			script.WriteString(line)
		}
	}
	return script.String()
}

// Spans returns the code in the running text of a Markdown document that has more than one word, with one space between
// words.
func Spans(text string) []string {
	fenced := regexp.MustCompile("(?ms)^[ 0-9.*-]*```.*?^ *```$")
	var all []string
	for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		if words := strings.Fields(span[1]); len(words) > 1 {
			all = append(all, strings.Join(words, " "))
		}
	}
	return all
}

// Steps returns the commands in the workflows of GitHub Actions of a Markdown document, in their order: what "run:" is
// followed by on its line.
func Steps(text string) []string {
	var all []string
	for _, step := range regexp.MustCompile(`(?m)^ *(?:- )?run: (.+)$`).FindAllStringSubmatch(text, -1) {
		all = append(all, step[1])
	}
	return all
}

// isShell reports whether a block in this language is of shell commands.
func isShell(language string) bool {
	switch language {
	case "sh", "bash", "shell", "console":
		return true
	}
	return false
}

// Lines returns the commands of a script, one each: without comments, and with lines that are continued put together.
func Lines(script string) []string {
	var all []string
	comment := regexp.MustCompile(`(^|\s+)# .*$`)
	for line := range strings.SplitSeq(strings.ReplaceAll(script, "\\\n", " "), "\n") {
		if line = strings.TrimSpace(comment.ReplaceAllString(line, "")); line != "" {
			all = append(all, strings.Join(strings.Fields(line), " "))
		}
	}
	return all
}
