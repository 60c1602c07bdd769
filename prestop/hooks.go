package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Where the reason comes from: the same options for both kinds of hooks.
type source struct {
	folder  string
	seconds float64
}

func (s *source) flags(set *flag.FlagSet) {
	set.StringVar(&s.folder, "from", "/var/run/vacate/reason", "folder with service, token, ca.crt and reason")
	set.Float64Var(&s.seconds, "ask-seconds", 3, "how long Vacate may take to answer")
}

func (s *source) reason() string {
	return reasonFrom(s.folder, time.Duration(s.seconds*float64(time.Second)))
}

// runCommand becomes the hook's command, with the reason in its environment and in place of $(NAME).
func runCommand(arguments []string) error {
	var from source
	var name string
	set := flag.NewFlagSet("exec", flag.ContinueOnError)
	from.flags(set)
	set.StringVar(&name, "env", "KUBE_POD_TERM_REASON", "variable that gets the reason")
	if err := set.Parse(arguments); err != nil {
		return err
	}
	command := set.Args()
	if len(command) == 0 {
		return errors.New("exec: the hook has no command")
	}
	reason := from.reason()
	path, err := exec.LookPath(command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return err
	}
	return syscall.Exec(path, withReason(command, name, reason), environment(os.Environ(), name, reason))
}

// environment is that of the container; without a reason nothing is added to it.
func environment(given []string, name, reason string) []string {
	if reason == "" {
		return given
	}
	var made []string
	for _, one := range given {
		if !strings.HasPrefix(one, name+"=") {
			made = append(made, one)
		}
	}
	return append(made, name+"="+reason)
}

var (
	// What may stand before the reason in its argument: nothing, or a flag or name with an equals sign.
	flagLike = regexp.MustCompile(`^(?:-{0,2}[A-Za-z0-9_./-]+=)?$`)
	// Options whose argument is a program: sh -c, bash -ec, python -c, perl -e, node --eval.
	programLike = regexp.MustCompile(`^(?:-[A-Za-z]*[cCeE]|--(?:command|eval|exec|print|run))$`)
)

// withReason puts the reason in place of $(NAME) where it is a whole argument or the value of a flag, and not
// where the argument is a program for an interpreter, which could run it. Elsewhere the reference stays.
func withReason(command []string, name, reason string) []string {
	made := append([]string(nil), command...)
	for i := 1; i < len(command); i++ {
		before, found := strings.CutSuffix(command[i], "$("+name+")")
		if found && flagLike.MatchString(before) && !programLike.MatchString(command[i-1]) {
			made[i] = before + reason
		}
	}
	return made
}

type headers []string

func (h *headers) String() string { return strings.Join(*h, ", ") }

func (h *headers) Set(text string) error {
	*h = append(*h, text)
	return nil
}

// sendRequest sends what the kubelet would have sent, from within the pod, with the reason as a header. As for
// the kubelet, any answer is a success; certificates are not verified.
func sendRequest(arguments []string) error {
	var from source
	var name, address string
	var given headers
	set := flag.NewFlagSet("get", flag.ContinueOnError)
	from.flags(set)
	set.StringVar(&name, "header", "KUBE-POD-TERM-REASON", "header that gets the reason")
	set.StringVar(&address, "url", "", "where to send the request; without a host, to the pod's own address")
	set.Var(&given, "with", "another header, NAME:VALUE")
	if err := set.Parse(arguments); err != nil {
		return err
	}
	request, err := newRequest(address, name, given, from.reason())
	if err != nil {
		return err
	}
	answer, err := client().Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 10<<10))
	return err
}

func newRequest(address, name string, given headers, reason string) (*http.Request, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if target.Hostname() == "" {
		target.Host = net.JoinHostPort(os.Getenv("VACATE_POD_IP"), target.Port())
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", program)
	request.Header.Set("Accept", "*/*")
	for i, one := range given {
		key, value, found := strings.Cut(one, ":")
		if !found {
			return nil, fmt.Errorf("--with %q has no colon", one)
		}
		if strings.EqualFold(key, "Host") {
			request.Host = value
		} else if named(given[:i], key) {
			request.Header.Add(key, value)
		} else {
			request.Header.Set(key, value)
		}
	}
	if reason != "" {
		request.Header.Set(name, reason)
	}
	return request, nil
}

func named(before headers, key string) bool {
	for _, one := range before {
		if earlier, _, _ := strings.Cut(one, ":"); strings.EqualFold(earlier, key) {
			return true
		}
	}
	return false
}

func client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
			DisableKeepAlives: true,
		},
		// The reason is for the pod's own service, and not for another host that it redirects to.
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			if len(before) >= 10 || next.URL.Host != before[0].URL.Host {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}
