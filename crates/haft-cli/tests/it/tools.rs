//! `haft tools`: what the profile's model would see.

use crate::support::Home;

#[test]
fn the_tools_of_the_profile_are_listed_in_its_order() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["tools"]), @r#"
    exit: 0
    --- stdout
    file_read         allow  Read a text file of the project, whole or by lines.
    file_write        ask    Write a text file of the project.
    file_edit         ask    Replace a passage of a project file and leave the rest as it is.
    file_list         allow  List a folder of the project, sorted, one entry a line; folders end with `/`.
    calculator        allow  Calculate an arithmetic expression.
    create_artifact   allow  Create a named text of this conversation that the user sees beside the chat and that you can read a…
    update_artifact   allow  Replace one passage of an artifact and leave the rest as it is.
    rewrite_artifact  allow  Replace the whole text of an artifact.
    read_artifact     allow  Read an artifact of this conversation, whole or by lines.
    grep_artifact     allow  Search the newest versions of the conversation's artifacts.
    call_subagent     allow  Let another agent work on something and wait for its answer, which is the result of this call.
    skill_list        allow  List the skills that you can read: instructions for special work, each with a name and what it is f…
    skill_read        allow  Read a skill before you do the work that it is for: its SKILL.md, or another file that it names.
    --- stderr
    13 tools of the profile `default`; `haft tools show TOOL` tells more of one
    "#);
    haft_snapshot!(home, home.haft(&["tools", "list", "--profile", "nanoclaw"]), @r#"
    exit: 0
    --- stdout
    calculator    allow  Calculate an arithmetic expression.
    text_process  allow  Count or change a text exactly, where guessing would be unsure: characters, lines, words, capitals,…
    json_process  allow  Read, check, format or query a JSON text.
    file_read     allow  Read a text file of the project, whole or by lines.
    file_write    allow  Write a text file of the project.
    file_delete   allow  Delete one file of the project.
    file_list     allow  List a folder of the project, sorted, one entry a line; folders end with `/`.
    file_exists   allow  Say whether a file or folder is in the project, and which of the two it is.
    file_mkdir    allow  Make a folder in the project, with those on the way to it.
    get_weather   allow  Get a simulated weather report for a city.
    multi_agent   allow  Let up to five agents work side by side, each on one task, and wait for all their answers.
    --- stderr
    11 tools of the profile `nanoclaw`; `haft tools show TOOL` tells more of one
    "#);
    let json = home.json(&["tools", "--profile", "artifactflow"]);
    let aliases: Vec<_> =
        json.as_array().unwrap().iter().map(|tool| tool["alias"].as_str().unwrap()).collect();
    assert_eq!(
        aliases,
        [
            "create_artifact",
            "update_artifact",
            "rewrite_artifact",
            "read_artifact",
            "grep_artifact",
            "call_subagent"
        ]
    );
}

#[test]
fn the_store_is_not_opened() {
    let home = Home::new();
    home.leaves_damage();
    home.write("home/haft.db", "no database");
    assert_eq!(home.haft(&["tools"]).exit, Some(0));
}

#[test]
fn one_tool_is_shown_whole() {
    let home = Home::new();
    haft_snapshot!(home, home.haft(&["tools", "show", "calculator"]), @r#"
    exit: 0
    --- stdout
    calculator (builtin:data.calculator)

    Calculate an arithmetic expression. Whole numbers and fractions are exact, whatever their size; what must be rounded is marked so. Knows + - * / ^ (or **) mod !, parentheses, % of, sqrt, abs, round, floor, ceil, min, max, sum, pow, log, ln, sin and kin, pi, e, and units as in `5 km to miles`. One expression a call; no variables of a programming language.

    Arguments:
      expression: string, required
          What to calculate, at most 500 characters, such as `(3 + 4) * 2^10` or `15% of 80`

    Permission: allow; it only looks.
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["tools", "show", "data.calculator", "--json"]), @r#"
    exit: 0
    --- stdout
    {"alias":"calculator","tool_id":"builtin:data.calculator","title":"Calculator","description":"Calculate an arithmetic expression. Whole numbers and fractions are exact, whatever their size; what must be rounded is marked so. Knows + - * / ^ (or **) mod !, parentheses, % of, sqrt, abs, round, floor, ceil, min, max, sum, pow, log, ln, sin and kin, pi, e, and units as in `5 km to miles`. One expression a call; no variables of a programming language.","input_schema":{"type":"object","properties":{"expression":{"type":"string","description":"What to calculate, at most 500 characters, such as `(3 + 4) * 2^10` or `15% of 80`"}},"required":["expression"]},"permission":"allow","max_calls":null,"effect":"read","idempotent":true,"open_world":false,"category":"data"}
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["call", "text_process", "--help", "--profile", "nanoclaw"]), @r#"
    exit: 0
    --- stdout
    text_process (builtin:data.text_process)

    Count or change a text exactly, where guessing would be unsure: characters, lines, words, capitals, order of lines.

    Arguments:
      text: string, required
          The text to work on
      operation: string, required, one of count, lines, words, upper, lower, reverse, trim, unique_lines, sort_lines
          count, lines, words: how many characters, lines or words; upper, lower, reverse: the changed text; trim: without blanks at line ends and around the text; unique_lines: each line once, in order; sort_lines: lines in order of their characters

    Permission: allow; it only looks.
    Example:
      haft call text_process text='one two
    three' operation='words'
    --- stderr
    "#);
}

#[test]
fn a_name_is_an_alias_then_an_id_then_the_alias_that_a_tool_would_have() {
    let home = Home::new();
    home.write(
        "home/profiles/mine.md",
        "---\ntools: {allow: [calculator, file_read], alias: {calculator: sums}}\n---\n",
    );
    let id = |name: &str| {
        let run = home.haft(&["tools", "show", name, "--json", "--profile", "mine"]);
        match run.exit {
            Some(0) => serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()["tool_id"].to_string(),
            code => format!("exit {code:?}"),
        }
    };
    for name in ["sums", "builtin:data.calculator", "data.calculator", "calculator"] {
        assert_eq!(id(name), "\"builtin:data.calculator\"", "{name}");
    }
    assert_eq!(id("file_write"), "exit Some(3)");
    assert_eq!(id("builtin:project.file_write"), "exit Some(3)");
    assert_eq!(id("nothing_like_it"), "exit Some(2)");
    haft_snapshot!(home, home.haft(&["tools", "show", "file_wriet"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no tool `file_wriet`

      Did you mean `file_write`, `file_edit`, `file_list`?
    "#);
    let near = home.haft(&["tools", "show", "builtin:project.file_wriet"]).stderr;
    assert!(near.contains("Did you mean `project.file_write`"), "{near}");
    haft_snapshot!(home, home.haft(&["tools", "show", "get_weather"]), @r#"
    exit: 3
    --- stdout
    --- stderr
    error: `builtin:data.weather` is not among the tools of the profile `default`

      Name another profile with `--profile`, or add the tool to `tools.allow` of your own.
    "#);
    haft_snapshot!(home, home.haft(&["tools", "show", "xxxxxxxxxxx"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is no tool `xxxxxxxxxxx`

      `haft tools` lists the tools of the profile.
    "#);
}

// DIA-13, DIA-14
#[test]
fn the_prompt_is_what_a_model_reads() {
    let home = Home::new();
    home.write("home/profiles/mine.md", "---\ntools: {allow: [calculator]}\n---\n");
    haft_snapshot!(home, home.haft(&["tools", "prompt", "--profile", "mine", "--dialect", "artifact-xml"]), @r#"
    exit: 0
    --- stdout
    <tool_instructions>
    <format>
    You may make one or more tool calls per turn. They execute sequentially.
    Wrap ALL parameter values in <![CDATA[...]]>.
    </format>

    <tool name="calculator">
    Calculate an arithmetic expression. Whole numbers and fractions are exact, whatever their size; what must be rounded is marked so. Knows + - * / ^ (or **) mod !, parentheses, % of, sqrt, abs, round, floor, ceil, min, max, sum, pow, log, ln, sin and kin, pi, e, and units as in `5 km to miles`. One expression a call; no variables of a programming language.
    Parameters:
      - expression: string (required) - What to calculate, at most 500 characters, such as `(3 + 4) * 2^10` or `15% of 80`
    Example:
    <tool_call>
      <name>calculator</name>
      <params>
        <expression><![CDATA[(3 + 4) * 2^10]]></expression>
      </params>
    </tool_call>
    </tool>

    </tool_instructions>
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["tools", "prompt", "--profile", "mine"]), @r#"
    exit: 0
    --- stdout
    [
      {
        "type": "function",
        "function": {
          "name": "calculator",
          "description": "Calculate an arithmetic expression. Whole numbers and fractions are exact, whatever their size; what must be rounded is marked so. Knows + - * / ^ (or **) mod !, parentheses, % of, sqrt, abs, round, floor, ceil, min, max, sum, pow, log, ln, sin and kin, pi, e, and units as in `5 km to miles`. One expression a call; no variables of a programming language.",
          "parameters": {
            "type": "object",
            "properties": {
              "expression": {
                "type": "string",
                "description": "What to calculate, at most 500 characters, such as `(3 + 4) * 2^10` or `15% of 80`"
              }
            },
            "required": [
              "expression"
            ]
          }
        }
      }
    ]
    --- stderr
    "#);
    haft_snapshot!(home, home.haft(&["tools", "prompt", "--profile", "mine", "--dialect", "auto"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `auto` only reads; it has no prompt of its own

      Name `native` or a text dialect.
    "#);
    let of_profile = home.haft(&["tools", "prompt", "--profile", "artifactflow"]);
    assert!(of_profile.stdout.starts_with("<tool_instructions>"), "{of_profile}");
}

// CONFLICT-09
#[test]
fn an_alias_that_two_families_share_means_the_one_that_the_profile_has() {
    let home = Home::new();
    home.write(
        "home/profiles/host.md",
        "---\ntools: {allow: [host.file_read], alias: {host.file_read: look}}\n---\n",
    );
    home.write("home/profiles/both.md", "---\ntools: {allow: [file_read, host.file_read]}\n---\n");
    let id = |profile: &str, name: &str| {
        home.json(&["tools", "show", name, "--profile", profile])["tool_id"].clone()
    };
    assert_eq!(id("host", "file_read"), "builtin:host.file_read");
    assert_eq!(id("default", "file_read"), "builtin:project.file_read");
    assert_eq!(home.haft(&["call", "file_list", "--profile", "host"]).exit, Some(3));
    haft_snapshot!(home, home.haft(&["tools", "--profile", "both"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: [FOLDER]/home/profiles/both.md: profile `both`: `builtin:project.file_read` and `builtin:host.file_read` would both be called `file_read`; rename one under `tools.alias`
    "#);
}
