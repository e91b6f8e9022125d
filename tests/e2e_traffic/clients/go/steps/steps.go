// Package steps is what clients in Go are told, and how they say what became of it: as steps.py does.
package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	// Seconds is how long a step may take: what a broker refuses is tried again and again until then.
	Seconds = 15
	// Patience is how long a step is waited for that does not keep to its limit.
	Patience = 18
	// Records is how many values every client writes and reads.
	Records = 20
)

// Task is where a client connects, as whom, and what it calls itself. Topic exists and is its own.
type Task struct {
	Bootstrap string         `json:"bootstrap"`
	ClientID  string         `json:"client_id"`
	Topic     string         `json:"topic"`
	Mechanism string         `json:"mechanism"`
	User      string         `json:"user"`
	Password  string         `json:"password"`
	Settings  map[string]any `json:"settings"`
	Only      []string       `json:"only"`
}

// Group is the group that the client reads in.
func (task Task) Group() string { return task.ClientID + "-group" }

// Made is a topic that the client creates itself.
func (task Task) Made() string { return task.ClientID + "-made" }

// Setting is a text among the settings, or "".
func (task Task) Setting(name string) string {
	text, _ := task.Settings[name].(string)
	return text
}

// Step is a part of a conversation, until the deadline of its context.
type Step struct {
	Name string
	Run  func(context.Context) error
}

// Values are what every client writes.
func Values() [][]byte {
	values := make([][]byte, Records)
	for number := range values {
		values[number] = fmt.Appendf(nil, "value %d", number)
	}
	return values
}

// Check is whether everything that was written has been read.
func Check(found int) error {
	if found < Records {
		return fmt.Errorf("%d of %d records were read", found, Records)
	}
	return nil
}

// Main goes through all steps, whatever becomes of each, until one does not end.
func Main(steps func(Task) []Step) {
	var task Task
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		panic(err)
	}
	for _, step := range steps(task) {
		if len(task.Only) > 0 && !slices.Contains(task.Only, step.Name) {
			continue
		}
		done := make(chan error, 1)
		go func() {
			within, cancel := context.WithTimeout(context.Background(), Seconds*time.Second)
			defer cancel()
			done <- step.Run(within)
		}()
		select {
		case err := <-done:
			tell(step.Name, err)
		case <-time.After(Patience * time.Second):
			tell(step.Name, fmt.Errorf("no end after %d s", Patience))
			os.Exit(1)
		}
	}
}

func tell(name string, err error) {
	line := map[string]any{"step": name, "error": nil}
	if err != nil {
		line["error"] = err.Error()
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}
