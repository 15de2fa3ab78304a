#!/usr/bin/env python3
"""Checks an exported run: verify_journal.py EXPORT_DIR

Written from docs/spec/journal.md alone, with the standard library alone. Prints `ok RUN N records head HASH`, or what does not
fit first, and exits with 1. It reads; it never writes.
"""

import hashlib
import json
import os
import sys

ZEROS = "0" * 64
FIELDS = {"v", "run", "seq", "time", "kind", "payload", "payload_sha256", "prev", "hash"}
HEADER = ("kind", "payload_sha256", "prev", "run", "seq", "time", "v")
REMOVALS = ("payload_redacted", "session_deleted")
ENDS = ("tool_call_completed", "tool_call_failed")


class Misfit(Exception):
    """Something that does not fit; its text names it."""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def canonical(value):
    """Section 1."""
    return json.dumps(
        whole(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True
    ).encode("utf-8")


def whole(value):
    """Whole doubles up to 2^53 are integers; integers beyond 64 bits are doubles."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else whole(float(value))
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= 2**53 else value
    if isinstance(value, list):
        return [whole(item) for item in value]
    return {key: whole(item) for key, item in value.items()}


def parse(text, what):
    def pairs(found):
        keys = [key for key, _ in found]
        if len(set(keys)) != len(keys):
            raise Misfit(f"{what}: a key stands there twice")
        return dict(found)

    def no_constant(name):
        raise Misfit(f"{what}: {name} is no JSON")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Misfit(f"{what}: it is no JSON: {error}") from None


def read(path, what):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Misfit(f"{what}: it cannot be read: {error.strerror}") from None


def utf8(data, what):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Misfit(f"{what}: it is no valid UTF-8") from None


def read_records(folder, run):
    """Sections 2 and 6, steps 1 to 3. Gives records with their payloads parsed."""
    data = read(os.path.join(folder, "journal.jsonl"), "journal.jsonl")
    if not data.endswith(b"\n"):
        raise Misfit("journal.jsonl: the last line is cut")
    records, prev = [], ZEROS
    for seq, line in enumerate(data[:-1].split(b"\n")):
        what = f"record {seq}"
        record = parse(utf8(line, what), what)
        if not isinstance(record, dict) or set(record) != FIELDS:
            raise Misfit(f"{what}: it does not have the nine fields of a record")
        if canonical(record) != line:
            raise Misfit(f"{what}: the line is not canonical")
        if record["v"] != 1:
            raise Misfit(f"{what}: its format {record['v']} is not known here")
        if record["run"] != run:
            raise Misfit(f"{what}: it belongs to another run")
        if record["seq"] != seq:
            raise Misfit(f"{what}: it is missing; record {record['seq']} stands in its place")
        what = f"record {seq} ({record['kind']})"
        if record["prev"] != prev:
            raise Misfit(f"{what}: it does not follow the record before")
        if record["hash"] != sha256(canonical({key: record[key] for key in HEADER})):
            raise Misfit(f"{what}: its hash does not fit its fields")
        prev = record["hash"]
        record["body"] = None
        if record["payload"] is not None:
            if not isinstance(record["payload"], str):
                raise Misfit(f"{what}: the payload is no string")
            stored = record["payload"].encode("utf-8", "surrogatepass")
            if sha256(stored) != record["payload_sha256"]:
                raise Misfit(f"{what}: the payload was changed")
            body = parse(record["payload"], f"{what}: the payload")
            if not isinstance(body, dict) or canonical(body) != stored:
                raise Misfit(f"{what}: the payload is not canonical")
            record["body"] = body
        records.append(record)
    return records


def artifact_file(name, version):
    """Section 5: the file of an artifact version."""
    return f"{name}@{version}.json"


def read_removals(records):
    """Section 3: redacted records, files and artifacts that went with them, the record that deletes all before it."""
    redacted, gone_files, gone_artifacts, deleted_at = set(), set(), set(), None
    for record in records:
        body = record["body"]
        if record["kind"] == "payload_redacted" and body and body["seq"] < record["seq"]:
            redacted.add(body["seq"])
            gone_files.update(body["files"])
            gone_artifacts.update(artifact_file(name, version) for name, version in body["artifacts"])
        if record["kind"] == "session_deleted" and body:
            deleted_at = record["seq"]
    return redacted, gone_files, gone_artifacts, deleted_at


def check_order(records, redacted, deleted_at):
    """Section 6, steps 4 to 6."""
    started, ended, unknown_ends, has_end = {}, set(), 0, False
    for record in records:
        seq, kind, body = record["seq"], record["kind"], record["body"]
        what = f"record {seq} ({kind})"
        declared = seq in redacted or (deleted_at is not None and seq < deleted_at)
        if body is None and not declared:
            raise Misfit(f"{what}: its payload is gone, and no later record says so")
        if body is not None and declared:
            raise Misfit(f"{what}: a record says that its payload was taken away, and it is there")
        if seq == 0 and kind != "run_started":
            raise Misfit(f"{what}: the run should begin with run_started")
        if has_end and kind not in REMOVALS:
            raise Misfit(f"{what}: it stands after the end of the run")
        has_end = has_end or kind == "run_ended"
        if kind == "tool_call_started" and body:
            started[body["call_id"]] = what
        if kind in ENDS:
            if body is None:
                unknown_ends += 1
            elif body["call_id"] in ended:
                raise Misfit(f"{what}: it ends the call {body['call_id']} a second time")
            else:
                ended.add(body["call_id"])
    if not has_end and deleted_at is None:
        raise Misfit("the run is not ended: still running, its process died, or its tail was cut")
    if has_end:
        open_calls = [call for call in started if call not in ended][unknown_ends:]
        for call in open_calls:
            raise Misfit(f"{started[call]}: the call {call} has no end although the run ended")


def named_things(records):
    """What the payloads name: files, artifact versions, blobs."""
    files, artifacts, blobs = {}, {}, {}
    for record in records:
        body = record["body"]
        if body is None:
            continue
        what = f"record {record['seq']} ({record['kind']})"
        try:
            references = [body[key] for key in ("snapshot_file", "arguments_file", "result_file", "file") if key in body]
            if record["kind"] == "tool_call_completed":
                references += body.get("workspace", [])
            if record["kind"] == "invocation_ended":
                references += body.get("files", [])
            for reference in references:
                files[reference["path"]] = (reference["sha256"], reference["bytes"])
            if record["kind"] == "tool_call_completed":
                for made in body["artifacts"]:
                    name, version = made["id"], made["version"]
                    artifacts[artifact_file(name, version)] = (name, version, made["sha256"])
                for digest in body.get("blobs", []):
                    blobs[digest] = what
            if record["kind"] in ENDS:
                for change in body.get("files", []):
                    if change["before"] is not None:
                        blobs[change["before"]] = what
        except (KeyError, TypeError, ValueError):
            raise Misfit(f"{what}: the payload does not have the fields of its kind") from None
    return files, artifacts, blobs


def present(folder, name):
    """Relative paths of all files below a folder of the export."""
    top, found = os.path.join(folder, name), set()
    for path, _, files in os.walk(top):
        for file in files:
            found.add(os.path.relpath(os.path.join(path, file), top).replace(os.sep, "/"))
    return found


def check_things(folder, records, gone_files, gone_artifacts, deleted_at):
    """Section 6, steps 8 and 9."""
    files, artifacts, blobs = named_things(records)
    there = present(folder, "files")
    for path, (digest, size) in sorted(files.items()):
        what = f"file {path}"
        if path in gone_files or deleted_at is not None:
            continue
        if path not in there:
            raise Misfit(f"{what}: it is missing")
        data = read(os.path.join(folder, "files", path), what)
        if sha256(data) != digest or len(data) != size:
            raise Misfit(f"{what}: it was changed")
    for path in sorted(there):
        if path in gone_files or deleted_at is not None:
            raise Misfit(f"file {path}: a record says that it was taken away, and it is there")
        if path not in files:
            raise Misfit(f"file {path}: no record speaks of it")
    check_artifacts(folder, artifacts, gone_artifacts, deleted_at)
    there = present(folder, "blobs")
    for digest, speaker in sorted(blobs.items()):
        if digest not in there:
            raise Misfit(f"blob {digest}: it is missing, and {speaker} names it")
        if sha256(read(os.path.join(folder, "blobs", digest), f"blob {digest}")) != digest:
            raise Misfit(f"blob {digest}: it was changed")
    for digest in sorted(there - set(blobs)):
        raise Misfit(f"blob {digest}: no record speaks of it")


def check_artifacts(folder, artifacts, gone, deleted_at):
    """Section 6, step 8: each artifact version, whole."""
    there = present(folder, "artifacts")
    for file, (name, version, digest) in sorted(artifacts.items()):
        what = f"artifact {name}@{version}"
        if file in gone or deleted_at is not None:
            continue
        if file not in there:
            raise Misfit(f"{what}: it is missing")
        data = read(os.path.join(folder, "artifacts", file), what)
        if sha256(data) != digest:
            raise Misfit(f"{what}: it was changed")
        value = parse(utf8(data, what), what)
        if not isinstance(value, dict) or canonical(value) != data:
            raise Misfit(f"{what}: it is not canonical")
        if (value.get("id"), value.get("version")) != (name, version):
            raise Misfit(f"{what}: it holds {value.get('id')}@{value.get('version')}")
    for file in sorted(there):
        if file in gone or deleted_at is not None:
            raise Misfit(f"artifact {file}: a record says that it was taken away, and it is there")
        if file not in artifacts:
            raise Misfit(f"artifact {file}: no record speaks of it")


def verify(folder):
    text = utf8(read(os.path.join(folder, "manifest.json"), "manifest.json"), "manifest.json")
    manifest = parse(text, "manifest.json")
    try:
        layout, run, head = manifest["format"], manifest["run"], manifest["head"]
        head = (head["next"], head["hash"])
    except (KeyError, TypeError):
        raise Misfit("manifest.json: it does not have the fields of a manifest") from None
    if layout != 1:
        raise Misfit(f"manifest.json: the format {layout} of the export is not known here")
    records = read_records(folder, run)
    redacted, gone_files, gone_artifacts, deleted_at = read_removals(records)
    if (len(records), records[-1]["hash"]) != head:
        raise Misfit(
            f"the journal ends with record {len(records) - 1} and the hash {records[-1]['hash']}, "
            f"the manifest's head is {head[0]} records and {head[1]}: the tail was cut or changed"
        )
    check_order(records, redacted, deleted_at)
    check_things(folder, records, gone_files, gone_artifacts, deleted_at)
    return f"ok {run} {len(records)} records head {head[1]}"


def main(arguments):
    if len(arguments) != 2 or arguments[1].startswith("-"):
        print("usage: verify_journal.py EXPORT_DIR (a folder that `haft audit export RUN` wrote)", file=sys.stderr)
        return 2
    try:
        print(verify(arguments[1]))
        return 0
    except Misfit as misfit:
        print(f"does not fit: {misfit}")
        return 1
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        print(f"does not fit: something does not have the form of its kind: {error!r}")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
