package emulator_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// shell understands just enough of the README's examples: assignments, and curl
// with -s, -u, -H, -X and -d, optionally piped into `jq -r .field`.
type shell struct {
	t    *testing.T
	vars map[string]string
}

var assignment = regexp.MustCompile(`^([A-Z]+)=(.*)$`)

func TestReadmeExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	sh := shell{t: t, vars: map[string]string{}}
	requests := 0
	for _, part := range strings.Split(string(readme), "```sh\n")[1:] {
		script, _, _ := strings.Cut(part, "```")
		requests += sh.run(newCloud(t), script)
	}
	if requests < 29 {
		t.Errorf("only %d requests were found in README.md", requests)
	}
}

// run runs a script against a cloud and returns how many requests it sent.
func (sh shell) run(c *cloud, script string) (requests int) {
	sh.t.Helper()
	sh.vars["URL"] = c.url
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		switch match := assignment.FindStringSubmatch(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case match == nil:
			sh.curl(line)
			requests++
		case strings.HasPrefix(match[2], "$("):
			sh.vars[match[1]] = sh.captured(match[2])
			requests++
		case match[1] != "URL":
			sh.vars[match[1]] = sh.words(match[2])[0]
		}
	}
	return requests
}

// captured runs `$(curl ... | jq -r .field)`.
func (sh shell) captured(text string) string {
	sh.t.Helper()
	text = strings.TrimSuffix(strings.TrimPrefix(text, "$("), ")")
	command, field, _ := strings.Cut(text, " | jq -r .")
	var object map[string]any
	if err := json.Unmarshal([]byte(sh.curl(command)), &object); err != nil {
		sh.t.Fatalf("%s: %v", command, err)
	}
	value, _ := object[field].(string)
	if value == "" {
		sh.t.Fatalf("%s: no %s in %v", command, field, object)
	}
	return value
}

// curl sends a request and returns the body of a successful answer.
func (sh shell) curl(command string) string {
	sh.t.Helper()
	words := sh.words(command)
	method, url, body := "", "", ""
	header := http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-s":
			continue
		case "-X":
			method = words[i+1]
		case "-d":
			body = words[i+1]
		case "-u":
			header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(words[i+1])))
		case "-H":
			key, value, _ := strings.Cut(words[i+1], ": ")
			header.Set(key, value)
		default:
			url = words[i]
			continue
		}
		i++
	}
	if method == "" && body != "" {
		method = http.MethodPost
	}
	return sh.send(command, method, url, body, header)
}

func (sh shell) send(command, method, url, body string, header http.Header) string {
	sh.t.Helper()
	request, err := http.NewRequestWithContext(sh.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		sh.t.Fatalf("%s: %v", command, err)
	}
	request.Header = header
	if body != "" {
		// What curl says about every -d, also when the body is JSON.
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		sh.t.Fatalf("%s: %v", command, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		sh.t.Fatalf("%s: status %d %s, %v", command, response.StatusCode, answer, err)
	}
	return string(answer)
}

// words splits a command the way a shell does.
func (sh shell) words(command string) []string {
	var words []string
	var word strings.Builder
	quote, escaped, open := rune(0), false, false
	for _, r := range command {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && r == ' ':
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	words = append(words, word.String())
	for i := range words {
		words[i] = os.Expand(words[i], func(name string) string { return sh.vars[name] })
	}
	return words
}
