// The tool behind a binding is out of reach.
use haft_core::CompiledTools;

fn reach(tools: &CompiledTools) {
    let _ = tools.tools()[0].tool();
}

fn main() {}
