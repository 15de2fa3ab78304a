# Plain make; each target is one script of scripts/ or one cargo command. Needs Rust; what else is missing is
# installed or named.
.POSIX:
.PHONY: help run test test-model test-grammar try-model try-presets bench bench-stored fuzz check

help:
	@echo 'make run         build haft and talk to its demo model'
	@echo 'make test        run all tests'
	@echo 'make fuzz        feed the readers of all dialects with hostile texts: make fuzz CASES=100000'
	@echo 'make test-model  run haft on a real local model (fetches about 1.1 GB the first time)'
	@echo 'make test-grammar  count well-formed calls of a small real model, free and held to a grammar (0.5 GB)'
	@echo "make try-model   let that model work on a task: make try-model TASK='What is 23*19?'"
	@echo 'make try-presets  let it work once with each preset (up to an hour on two busy cores)'
	@echo 'make bench       run the benches; prints each goal and its figure'
	@echo 'make bench-stored  the bench over a store of a million records, which it makes once (some 2 GB of disk)'
	@echo 'make check       format, lints, docs, house rules'

run:
	@bash scripts/run.sh

test:
	@bash scripts/test.sh

test-model:
	@bash scripts/test-model.sh

test-grammar:
	@bash scripts/test-grammar.sh

try-model:
	@bash scripts/try-model.sh

try-presets:
	@bash scripts/try-presets.sh

bench:
	@cargo bench --package haft-bench --no-fail-fast
	@cargo bench --package haft-bench --features allocations --bench allocations

bench-stored:
	@cargo bench --package haft-bench --features stored --bench stored

fuzz:
	@PROPTEST_CASES=$${CASES:-100000} cargo test --release --package haft-dialect --test properties

check:
	@bash scripts/check.sh
