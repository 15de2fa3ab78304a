//! What the declarations of all tools say.

use haft_core::facts::Permission;
use haft_core::{Effect, ToolRegistry};
use haft_schema::Validator;
use serde_json::Value;

// CAT-07, DES-06, REG-05, CONFLICT-22
#[test]
fn every_tool_has_its_id_alias_effect_and_kind_of_schema() {
    let rows: Vec<String> = haft_tools::all()
        .unwrap()
        .iter()
        .map(|tool| {
            let declaration = tool.declaration();
            let effect = match declaration.facts.effect {
                Effect::Read => "read",
                Effect::Write => "write",
                Effect::Control => "control",
                Effect::WriteControl => "write+control",
            };
            let schema = if declaration.descriptor.input_schema.is_closed() { "closed" } else { "open" };
            let category = &declaration.facts.category;
            format!("{} {} {effect} {category} {schema}", declaration.id(), declaration.alias())
        })
        .collect();
    let expected = [
        "builtin:artifact.create create_artifact write artifact closed",
        "builtin:artifact.update update_artifact write artifact closed",
        "builtin:artifact.rewrite rewrite_artifact write artifact closed",
        "builtin:artifact.read read_artifact read artifact closed",
        "builtin:artifact.grep grep_artifact read artifact closed",
        "builtin:project.file_read file_read read file open",
        "builtin:project.file_write file_write write file open",
        "builtin:project.file_edit file_edit write file closed",
        "builtin:project.file_delete file_delete write file open",
        "builtin:project.file_list file_list read file open",
        "builtin:project.file_exists file_exists read file open",
        "builtin:project.file_mkdir file_mkdir write file open",
        "builtin:data.calculator calculator read data open",
        "builtin:data.text_process text_process read data open",
        "builtin:data.json_process json_process read data open",
        "builtin:data.weather get_weather read weather open",
        "builtin:workspace.list_files workspace_list_files read workspace closed",
        "builtin:workspace.search_files workspace_search_files read workspace closed",
        "builtin:workspace.read_file workspace_read_file read workspace closed",
        "builtin:workspace.write_file workspace_write_file write workspace closed",
        "builtin:workspace.apply_patch workspace_apply_patch write workspace closed",
        "builtin:workspace.commit workspace_commit write+control workspace closed",
        "builtin:workspace.finish workspace_finish control workspace closed",
        "builtin:chat.search chat_search read chat closed",
        "builtin:chat.read_messages chat_read_messages read chat closed",
        "builtin:worldinfo.read_activated worldinfo_read_activated read worldinfo closed",
        "builtin:dice.roll dice_roll read dice closed",
        "builtin:skill.list skill_list read skill closed",
        "builtin:skill.search skill_search read skill closed",
        "builtin:skill.read skill_read read skill closed",
        "builtin:agent.call call_subagent control agent closed",
        "builtin:agent.multi multi_agent control agent closed",
        "builtin:agent.list agent_list read agent closed",
        "builtin:agent.delegate agent_delegate write+control agent closed",
        "builtin:agent.handoff agent_handoff write+control agent closed",
        "builtin:agent.await agent_await control agent closed",
        "builtin:task.return task_return control agent closed",
        "builtin:host.file_read file_read read file open",
        "builtin:host.file_write file_write write file open",
        "builtin:host.file_list file_list read file open",
    ];
    assert_eq!(rows, expected);
}

// CAT-09, ALI-02
#[test]
fn the_nineteen_tools_of_tauritavern_are_there_under_their_names() {
    let families = [
        ("agent", "list delegate handoff await"),
        ("task", "return"),
        ("chat", "search read_messages"),
        ("worldinfo", "read_activated"),
        ("dice", "roll"),
        ("skill", "list search read"),
        ("workspace", "list_files search_files read_file write_file apply_patch commit finish"),
    ];
    let tools = haft_tools::all().unwrap();
    let mut found = 0;
    for (family, names) in families {
        for name in names.split(' ') {
            let id = format!("builtin:{family}.{name}");
            let tool = tools.iter().find(|tool| tool.declaration().id().to_string() == id);
            let alias = tool.map(|tool| tool.declaration().alias());
            assert_eq!(alias, Some(format!("{family}_{name}")), "{id}");
            found += 1;
        }
    }
    assert_eq!(found, 19);
}

#[test]
fn every_tool_explains_itself_and_its_example_can_run() {
    let mut registry = ToolRegistry::default();
    registry.register_all(haft_tools::all().unwrap()).unwrap();
    for tool in registry.iter() {
        let declaration = tool.declaration();
        let schema = &declaration.descriptor.input_schema;
        assert!(declaration.descriptor.description.ends_with('.'), "{}", declaration.id());
        assert_eq!(declaration.facts.permission, Permission::Allow, "profiles decide: {}", declaration.id());
        let properties = schema.as_value()["properties"].as_object().unwrap();
        for (name, property) in properties {
            assert!(property["description"].is_string(), "{} {name}", declaration.id());
        }
        if let Some(example) = &declaration.facts.example {
            let mut example = example.clone();
            haft_schema::Defaults::of(schema).fill(&mut example);
            let validator = Validator::compile(schema).unwrap();
            assert_eq!(validator.validate(&Value::Object(example)).err(), None, "{}", declaration.id());
        }
    }
}

// DES-04
#[test]
fn parameters_of_a_have_types_defaults_and_values_in_the_source_order() {
    let tools = haft_tools::artifacts::tools().unwrap();
    let rows: Vec<String> = tools
        .iter()
        .flat_map(|tool| {
            let alias = tool.declaration().alias();
            let schema = &tool.declaration().descriptor.input_schema;
            schema
                .properties()
                .map(|property| {
                    let document = &schema.as_value()["properties"][property.name];
                    let need = if property.required { "required" } else { "optional" };
                    let kind = property.schema.type_name();
                    let default =
                        document.get("default").map(|value| format!(" = {value}")).unwrap_or_default();
                    format!("{alias} {}: {kind} {need}{default}", property.name)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let expected = [
        "create_artifact id: string required",
        "create_artifact content_type: string optional = \"text/markdown\"",
        "create_artifact title: string required",
        "create_artifact content: string required",
        "update_artifact id: string required",
        "update_artifact old_str: string required",
        "update_artifact new_str: string required",
        "rewrite_artifact id: string required",
        "rewrite_artifact content: string required",
        "read_artifact id: string required",
        "read_artifact version: integer optional",
        "read_artifact offset: integer optional = 1",
        "read_artifact limit: integer optional",
        "grep_artifact pattern: string required",
        "grep_artifact id: string optional",
        "grep_artifact fixed_strings: boolean optional = false",
        "grep_artifact ignore_case: boolean optional = false",
        "grep_artifact context: integer optional = 0",
        "grep_artifact max_count: integer optional = 20",
    ];
    assert_eq!(rows, expected);
}
