// Command vacate-prestop runs the preStop hook of a container and gives it the reason why its pod is ended.
//
//	vacate-prestop install DIR                                   copy this program to DIR (init container)
//	vacate-prestop exec --env NAME -- COMMAND [ARGUMENT...]      become the hook's command
//	vacate-prestop get --header NAME --url URL [--with NAME:VALUE]...   send the hook's request
//
// The reason is requested from Vacate, and read from a downward API file where Vacate does not answer. The hook
// always runs, without a reason where neither has one.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const program = "vacate-prestop"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("give one of install, exec and get")
	}
	switch arguments[0] {
	case "install":
		return install(arguments[1:])
	case "exec":
		return runCommand(arguments[1:])
	case "get":
		return sendRequest(arguments[1:])
	}
	return fmt.Errorf("%q is none of install, exec and get", arguments[0])
}

// install copies this program, so that containers of any image can run it. The copy gets its name only when
// it is whole: an init container may be ended and started again at any moment.
func install(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("install: give the folder to copy to")
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	source, err := os.Open(own)
	if err != nil {
		return err
	}
	defer source.Close()
	part, err := os.CreateTemp(arguments[0], ".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	if _, err = io.Copy(part, source); err == nil {
		err = part.Chmod(0o555) // containers of other users run it
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), filepath.Join(arguments[0], program))
}
