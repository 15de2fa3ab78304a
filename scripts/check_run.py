"""Checks the events of one run (`haft run --json`) for the protocol: call, result, next request, end.

usage: check_run.py EVENTS.jsonl [--native]

--native: the calls came as calls of the provider's own form, with its ids, not in the text.
"""

import json
import sys

KEYS = {"v", "run", "seq", "time", "kind", "payload"}


def wire_ids(events):
    """The providers' ids of the calls that the model made."""
    turns = [event["payload"] for event in events if event["kind"] == "model_turn_completed"]
    calls = [call["requested"].get("call", {}) for turn in turns for call in turn["calls"]]
    return [call.get("wire_id") for call in calls]


def fault(events, native):
    """What is wrong with the events, or None."""
    if not events:
        return "there are no events"
    for number, event in enumerate(events, 1):
        if not isinstance(event, dict) or not KEYS <= event.keys():
            return f"line {number} lacks one of {sorted(KEYS)}"
    runs = {event["run"] for event in events}
    if len(runs) != 1:
        return f"the events belong to {len(runs)} runs"
    numbers = [event["seq"] for event in events if event["seq"] is not None]
    if any(later <= earlier for earlier, later in zip(numbers, numbers[1:])):
        return "the sequence numbers do not rise"
    kinds = [event["kind"] for event in events]
    if "tool_call_completed" not in kinds:
        return "no tool call was completed"
    if "model_request_created" not in kinds[kinds.index("tool_call_completed"):]:
        return "the model was not asked again after the tool's result"
    if native and not all(wire_ids(events)):
        return "a call has no id of the provider: it was read out of the text"
    if kinds[-1] != "run_ended":
        return f"the last event is {kinds[-1]}, not run_ended"
    status = events[-1]["payload"].get("status")
    if status not in ("completed", "partial_success"):
        return f"the run ended as {status}"
    return None


def main():
    native = sys.argv[2:] == ["--native"]
    if len(sys.argv) != (3 if native else 2):
        sys.exit(__doc__)
    try:
        with open(sys.argv[1], encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        sys.exit(f"check_run: cannot read the events: {error}")
    found = fault(events, native)
    if found:
        sys.exit(f"check_run: {found}")
    kinds = [event["kind"] for event in events]
    print(
        f"check_run: {kinds.count('model_request_created')} model requests, "
        f"{kinds.count('tool_call_completed')} calls completed, "
        f"{kinds.count('tool_call_failed')} failed, ended {events[-1]['payload']['status']}"
    )


if __name__ == "__main__":
    main()
