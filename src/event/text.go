package event

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxNames bounds how many names are written: the message of an event has at most 1,024 characters.
const MaxNames = 10

// Names returns the names separated by commas. Of more than MaxNames, it writes the first ones and the number of the
// others: "a, b and 3 more".
func Names(names []string) string {
	if more := len(names) - MaxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MaxNames], ", "), more)
	}
	return strings.Join(names, ", ")
}

// Sentences joins texts, and leaves out empty ones. Each ends with a full stop then, unless it already ends with a
// punctuation mark, or with an address: the text of an error has none, and that of another program may have one.
func Sentences(texts ...string) string {
	var ended []string
	for _, text := range texts {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text, "\"')]”’`"))
		address := strings.Contains(text[strings.LastIndexByte(text, ' ')+1:], "://")
		if !address && !strings.ContainsRune(".!?:…", last) {
			text += "."
		}
		ended = append(ended, text)
	}
	return strings.Join(ended, " ")
}
