import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { textFormat } from "../../../src/wire/text/formats.ts";
import { cut, readPieces, readText, tool } from "./reading.ts";

const READ = { name: "read", input: { path: "a" } };
const LIST = { name: "bash", input: { command: "ls" } };
const READ_JSON = '{"name": "read", "arguments": {"path": "a"}}';
const LIST_JSON = '{"name": "bash", "arguments": {"command": "ls"}}';

interface Row {
  readonly says: string;
  readonly calls?: readonly unknown[];
  readonly text?: string;
  readonly thinking?: string;
}

/** By format, messages as its models write them. */
const ROWS: Readonly<Record<string, readonly Row[]>> = {
  hermes: [
    {
      says: `<tool_call>{"name": "read", "arguments": {"path": "a"}, "arguments": {"path": "b"}}</tool_call>`,
      calls: [{ name: "read", input: '{"name": "read", "arguments": {"path": "a"}, "arguments": {"path": "b"}}' }],
    },
    { says: `<tool_call>{"name": "read", "arguments": {"path": "a"}, "arguments": {"path": "a"}}</tool_call>`, calls: [READ] },
    {
      says: String.raw`<tool_call>{"name": "read", "arguments": "{\"path\": \"a\", \"path\": \"b\"}"}</tool_call>`,
      calls: [{ name: "read", input: '{"path": "a", "path": "b"}' }],
    },
    {
      says: `<think>Which?</think>\n\nI read.\n<tool_call>\n${READ_JSON}\n</tool_call>\n<tool_call>\n${LIST_JSON}\n</tool_call>`,
      calls: [READ, LIST],
      text: "I read.",
      thinking: "Which?",
    },
    { says: `<tool_call>\n${READ_JSON}`, calls: [READ] },
    { says: `<tool_call>\n{${READ_JSON}}\n</tool_call>`, calls: [READ] },
    { says: `<tool_call>{ ${READ_JSON}, ${LIST_JSON} }</tool_call>`, text: `<tool_call>{ ${READ_JSON}, ${LIST_JSON} }</tool_call>` },
    {
      says: `Now.\n<tool_call>\n${READ_JSON.slice(0, -1)}\n</tool_call>\n<tool_call>\n${LIST_JSON}\n</tool_call>`,
      calls: [{ name: "read", input: '{"path":"a"' }, LIST],
      text: "Now.",
    },
    {
      says: `<tool_call>${READ_JSON.slice(0, -2)}</tool_call>`,
      text: `<tool_call>${READ_JSON.slice(0, -2)}</tool_call>`,
    },
    { says: `<tool_call>${READ_JSON.replace("read", "functions.read:0")}</tool_call>`, calls: [READ] },
    {
      says: `<tool_call>${READ_JSON.replace("read", "reed:0")}</tool_call>`,
      calls: [{ ...READ, name: "reed:0" }],
    },
    { says: `<tool_call>{'name': 'read', 'arguments': {'path': 'a'}}</tool_call>`, calls: [READ] },
    { says: `<tool_call>\n\`\`\`json\n${READ_JSON}\n\`\`\`\n</tool_call>`, calls: [READ] },
    { says: `<tool_call>{"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}</tool_call>`, calls: [READ] },
    {
      says: `<tool_call>{"name": "read", "arguments": {"path": "</tool_call>"}}</tool_call>`,
      calls: [{ name: "read", input: { path: "</tool_call>" } }],
    },
    {
      says: `<tool_call>\n{"name": "read", "arguments": {"path": \n</tool_call>\n<tool_call>\n${READ_JSON}\n</tool_call>`,
      calls: [READ],
      text: '<tool_call>\n{"name": "read", "arguments": {"path": \n</tool_call>',
    },
    { says: `<tool_call>{"name": "read", "arguments": {"path"`, text: `<tool_call>{"name": "read", "arguments": {"path"` },
  ],
  "hermes-loose": [
    { says: `{${READ_JSON}}`, text: `{${READ_JSON}}` },
    { says: `\`\`\`xml\n<response>\n${READ_JSON}\n</response>\n\`\`\``, calls: [READ] },
    { says: `Reading.\n\`\`\`json\n${READ_JSON}\n\`\`\``, calls: [READ], text: "Reading." },
    { says: `<function name="read">\n{"path": "a"}\n</function>`, calls: [READ] },
  ],
  "qwen3-coder": [
    { says: "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>", calls: [READ] },
    {
      says: "<tool_call>\n<function=write>\n<parameter=path>\na\n<parameter=content>\n<p>\n\nx</p>\n</parameter>\n</function>\n</tool_call>",
      calls: [{ name: "write", input: { path: "a", content: "<p>\n\nx</p>" } }],
    },
    {
      says: "<tool_call>\n<function=write>\n<parameter=content>\n</function>\n</tool_call>\nx\n</parameter>\n<parameter=path>\na</function>b\n</parameter>\n</function>\n</tool_call>",
      calls: [{ name: "write", input: { content: "</function>\n</tool_call>\nx", path: "a</function>b" } }],
    },
    {
      says: "<tool_call>\n<function=read>\n<parameter=path>\na\n</function>\n</parameter>\n</tool_call>",
      calls: [{ name: "read", input: '{"path": "a"' }],
      text: "\n</parameter>",
    },
    {
      says: "Now.\n<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</tool_call>\n<tool_call>\n<function=my-tool>\n</tool_call>",
      calls: [
        { name: "bash", input: '{"command": "ls"' },
        { name: "my-tool", input: "{" },
      ],
      text: "Now.",
    },
    {
      says: "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>",
      text: "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>",
    },
    {
      says: "<function=get_weather><parameter=none>None</parameter><parameter=city>None</parameter><parameter=sure>True</parameter></function>",
      calls: [{ name: "get_weather", input: { none: null, city: "None", sure: true } }],
    },
  ],
  glm: [
    { says: "<tool_call>read</tool_call>", calls: [{ name: "read", input: {} }] }, // Ling 3 writes no line end
    {
      says: "<tool_calls>\n<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>\n</tool_calls>",
      calls: [LIST],
    },
    {
      says: "<tool_call>get_weather\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n<arg_key>city</arg_key><arg_value> Rome</arg_value>\n</tool_call>",
      calls: [{ name: "get_weather", input: { days: 3, city: " Rome" } }],
    },
    {
      says: "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call><|observation|>",
      calls: [LIST],
    },
    { says: "It writes <|observation|> then.", text: "It writes <|observation|> then." },
    {
      says: `<tool_call>write<arg_key>path</arg_key><arg_value>a</tool_call>b</arg_value><arg_key>content</arg_key><arg_value><tool_call>my-tool</tool_call>${READ_JSON}</arg_value></tool_call>`,
      calls: [{ name: "write", input: { path: "a</tool_call>b", content: `<tool_call>my-tool</tool_call>${READ_JSON}` } }],
    },
    {
      says: "<tool_call>read<arg_key>path</arg_key><arg_value>a<tool_call>bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>",
      calls: [LIST],
      text: "<tool_call>read<arg_key>path</arg_key><arg_value>a",
    },
    {
      says: "<tool_call>read<arg_key>path</arg_key><arg_value>a</tool_call><tool_call>bash<arg_key>command</arg_key><arg_value>ls</arg_value></tool_call>",
      calls: [{ name: "read", input: '{"path": "a"' }, LIST],
    },
    { says: "Now.<tool_call>my-tool</tool_call>Then.", calls: [{ name: "my-tool", input: {} }], text: "Now.Then." },
  ],
  "llama-3": [
    { says: `<|python_tag|>read.call(path="a"); bash.call(command="l`, calls: [READ], text: `; bash.call(command="l` },
    {
      says: '{"type": "function", "name": "read", "parameters": {"path": "a"}}; {"name": "bash", "parameters": {"command": "ls"}}',
      calls: [READ, LIST],
    },
    { says: '<|python_tag|>read.call(path="a")', calls: [READ] },
    { says: 'Set {x} and {"path": "a"}.', text: 'Set {x} and {"path": "a"}.' },
  ],
  pythonic: [
    { says: `[read(path='a'), bash(command="ls")]`, calls: [READ, LIST] },
    { says: `[files::list.all(path="a"), read(path="a")]`, calls: [{ name: "files::list.all", input: { path: "a" } }, READ] },
    { says: `[note:read(path="a"), see::read(path="a")]`, text: `[note:read(path="a"), see::read(path="a")]` },
    { says: `I read: [read(path="a")] Good.`, calls: [READ], text: "I read:  Good." },
    { says: `<|tool_call_start|>[read(path="a")]<|tool_call_end|>`, calls: [READ] },
    { says: "[see(below), [1]: x", text: "[see(below), [1]: x" },
  ],
  "olmo-3": [
    { says: `<function_calls>read(path="a")\nbash(command='ls')</function_calls>`, calls: [READ, LIST] },
    { says: `<function_calls>read(path="a")\nbash(command='ls`, calls: [READ], text: "\nbash(command='ls" },
  ],
  mistral: [
    {
      says: `[THINK]Hm.[/THINK][TOOL_CALLS][${READ_JSON.replace("{", '{"id": "abc123def", ')}]`,
      calls: [{ id: "abc123def", ...READ }],
      thinking: "Hm.",
    },
    { says: '[TOOL_CALLS]read{"path": "a"}[TOOL_CALLS]bash[CALL_ID]7[ARGS]{"command": "ls"}', calls: [READ, { id: "7", ...LIST }] },
    { says: '[TOOL_CALLS]bash{"command": "ls', calls: [{ name: "bash", input: '{"command": "ls' }] },
  ],
  deepseek: [
    {
      says: '<think>Hm.</think>I read.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{"path": "a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      calls: [READ],
      text: "I read.",
      thinking: "Hm.",
    },
    {
      says: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "ls"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      calls: [READ, LIST],
    },
    {
      says: '<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>read\n```json\n{"path": "a"}\n```<|tool_call_end|><|tool_calls_end|>',
      calls: [READ],
    },
    {
      says: '<｜tool\\_calls\\_begin｜>function<｜tool▁sep｜>read\n```json\n{"path": "a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      calls: [READ],
    },
    {
      says: '<｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": ["a"<｜tool▁call▁end｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a"}<｜tool▁call▁end｜>',
      calls: [{ name: "read", input: '{"path": ["a"' }, READ],
    },
    {
      says: '<｜tool▁call▁begin｜>read<｜tool▁sep｜>{nothing}<｜tool▁call▁end｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path": "a"}<｜tool▁call▁end｜>',
      calls: [READ],
      text: "<｜tool▁call▁begin｜>read<｜tool▁sep｜>{nothing}<｜tool▁call▁end｜>",
    },
    {
      says: '<｜tool▁calls｜>function<｜tool▁sep｜>read\n```json\n{"path": "a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      calls: [READ],
    },
  ],
  "deepseek-dsml": [
    {
      says: '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">5</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
      calls: [{ name: "get_weather", input: { city: "5", days: 5 } }],
    },
  ],
  "kimi-k2": [
    {
      says: '<think>Hm.<|tool_calls_section_begin|><|tool_call_begin|>read:0<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|><|tool_calls_section_end|> so</think>No.',
      text: "No.",
      thinking:
        'Hm.<|tool_calls_section_begin|><|tool_call_begin|>read:0<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|><|tool_calls_section_end|> so',
    },
    {
      says: 'So: <|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|><|tool_calls_section_end|>',
      calls: [{ id: "functions.read:0", ...READ }],
      text: "So:",
    },
    {
      says: '<think>Hm.<|tool_calls_section_begin|><|tool_call_begin|>read<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|><|tool_calls_section_end|>',
      calls: [READ],
      thinking: "Hm.",
    },
    {
      says: "<|tool_call_begin|>nothing<|tool_call_argument_begin|>{}<|tool_call_end|>",
      text: "<|tool_call_begin|>nothing<|tool_call_argument_begin|>{}<|tool_call_end|>",
    },
  ],
  "kimi-k3": [
    {
      says: '<|open|>think<|sep|>Hm.<|close|>think<|sep|><|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>\n5<|close|>argument<|sep|><|open|>argument key="days" type="number"<|sep|>5<|close|>argument<|sep|><|open|>argument key="none" type="string"<|sep|>null<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="bash" index="2"<|sep|><|open|>argument key="command" type="string"<|sep|>ls<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>',
      calls: [{ name: "get_weather", input: { city: "\n5", days: 5, none: "null" } }, LIST],
      text: "I look.",
      thinking: "Hm.",
    },
    { says: "<|open|>response<|sep|>Done.<|close|>response<|sep|><|close|>message<|sep|>", text: "Done." },
    {
      says: '<|open|>tools<|sep|><|open|>call tool="read" index="1"<|sep|><|open|>json type="object"<|sep|>{"path": "a"}<|close|>json<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
      calls: [READ],
    },
    {
      says: '<|open|>call tool="read" index="1"<|sep|><|open|>json type="object"<|sep|>{"path": "a"}<|close|>call<|sep|>',
      text: '<|open|>call tool="read" index="1"<|sep|><|open|>json type="object"<|sep|>{"path": "a"}<|close|>call<|sep|>',
    },
    {
      says: '<|open|>call index="1" tool="my-tool"<|sep|><|open|>argument type="string" key="&quot;a&quot; &amp;quot;"<|sep|>5<|close|>argument<|sep|><|close|>call<|sep|>',
      calls: [{ name: "my-tool", input: { '"a" &quot;': "5" } }],
    },
    {
      says: '<|open|>think<|sep|>As <|open|>call tool="my-tool" index="1"<|sep|><|close|>call<|sep|>?<|close|>think<|sep|>No.',
      text: "No.",
      thinking: 'As <|open|>call tool="my-tool" index="1"<|sep|><|close|>call<|sep|>?',
    },
    {
      says: '<|open|>tools<|sep|><|open|>call tool="bash" index="1"<|sep|><|open|>argument key="command" type="string"<|sep|>rm -rf',
      text: '<|open|>tools<|sep|><|open|>call tool="bash" index="1"<|sep|><|open|>argument key="command" type="string"<|sep|>rm -rf',
    },
  ],
  harmony: [
    {
      says: "<|start|>assistant<|channel|>commentary to=functions.bash <|constrain|>json",
      text: "<|start|>assistant<|channel|>commentary to=functions.bash <|constrain|>json",
    },
    { says: "<|channel|>analysis<|message|>Hm.<|end|><|message|>Done.", text: "Done.", thinking: "Hm." },
    {
      says: "<|channel|>commentary<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Done.",
      text: "Done.",
      thinking: "Hm.",
    },
    { says: " to=do the dishes, said <|the> note", text: " to=do the dishes, said <|the> note" },
    {
      says: "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
      text: "Done.",
      thinking: "Hm.",
    },
    {
      says: '<|channel|>commentary<|message|>I read.<|end|><|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a"}<|call|>',
      calls: [READ],
      text: "I read.",
    },
    {
      says: "<|channel|>commentary to=functions.read <|constrain|>json<|message|>no JSON<|call|>",
      text: "<|channel|>commentary to=functions.read <|constrain|>json<|message|>no JSON<|call|>",
    },
    { says: "<|channel|>analysis<|message|>Hm. <|channel|>x", text: "x", thinking: "Hm. " },
    { says: "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant", thinking: "Hm." },
    {
      says: '<|channel|>commentary to=functions.read<|message|>{"path": "a"}<|call|>commentary<|channel|>commentary to=functions.bash<|message|>{"command": "ls"}<|call|>',
      calls: [READ, LIST],
    },
    { says: ' to=functions.read<|channel|>commentary json<|message|>{"path": "a"}', calls: [READ] },
  ],
  "muse-glimmer": [
    {
      says: ' to=self<|message|>Hm. <atem:invoke name="my-tool"></atem:invoke><|eom|><|start|>assistant to=user<|message|>I look.<|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">\nRome</atem:parameter>\n<atem:parameter name="days">3</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|><|start|>assistant to=bash<|message|><atem:function_calls>\n<atem:invoke name="bash">\n<atem:parameter name="command">ls</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>',
      calls: [{ name: "get_weather", input: { city: "\nRome", days: 3 } }, LIST],
      text: "I look.",
      thinking: 'Hm. <atem:invoke name="my-tool"></atem:invoke>',
    },
    { says: "<|start|>assistant to=user<|message|>Done.<|eot|>", text: "Done." },
    ...[" ", "<|start|>assistant "].map((begun) => ({
      says: `${begun}to=user<|message|>So: <atem:invoke name="my-tool"></atem:invoke> and\nto=bash<|message|> it.<|eom|><|start|>assistant to=my-tool<|message|>\n<atem:invoke name="my-tool"></atem:invoke><|eot|>`,
      calls: [{ name: "my-tool", input: {} }],
      text: 'So: <atem:invoke name="my-tool"></atem:invoke> and\nto=bash<|message|> it.',
    })),
    { says: ' to=my-tool.my-tool<|message|><atem:invoke name="my-tool.my-tool"></atem:invoke>', calls: [{ name: "my-tool", input: {} }] },
    { says: '<atem:invoke name="a.my-tool"></atem:invoke>', calls: [{ name: "a.my-tool", input: {} }] },
    {
      says: ' to=user<|message|>I look. to=my-tool<|message|><atem:invoke name="my-tool"></atem:invoke><|eot|>',
      calls: [{ name: "my-tool", input: {} }],
      text: "I look. to=my-tool",
    },
    {
      says: '<atem:function_calls>\n<atem:invoke name="my-tool">\n</atem:invoke>\n</atem:function_calls>',
      calls: [{ name: "my-tool", input: {} }],
    },
  ],
  "gemma-4": [
    { says: "<|channel>\nHm.<channel|>Done.", text: "Done.", thinking: "Hm." },
    { says: "<|channel>thought\nHm.<channel|>Done.<channel|>", text: "Done.", thinking: "Hm." },
    { says: "Done.<channel|>", text: "Done." },
    {
      says: '<|tool_call>call:get_weather{city:<|"|>"R" {x<|"|>,tags:[<|"|>a<|"|>],days:2}<tool_call|>',
      calls: [{ name: "get_weather", input: { city: '"R" {x', tags: ["a"], days: 2 } }],
    },
  ],
  functools: [{ says: ` functools[${READ_JSON}, ${LIST_JSON}]`, calls: [READ, LIST] }],
  granite: [
    { says: `<think>Hm.</think><response>I read.</response><|tool_call|>[${READ_JSON}]`, calls: [READ], text: "I read.", thinking: "Hm." },
  ],
  "gigachat-3.5": [
    {
      says: 'I look.\n<｜GCML｜tool_calls>\n<｜GCML｜invoke name="read">\n<｜GCML｜parameter name="path" string="true">a</｜GCML｜parameter>\n</｜GCML｜invoke>\n<｜GCML｜invoke name="bash">\n<｜GCML｜parameter name="command" string="true">ls</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls><|message_sep|></s>',
      calls: [READ, LIST],
      text: "I look.",
    },
  ],
  dots: [
    {
      says: '<dots_function_call>\n<invoke name="read">\n<parameter name="path">a</parameter>\n</invoke>\n<invoke name="bash">\n<parameter name="command">ls</parameter>\n</invoke>\n</dots_function_call>',
      calls: [READ, LIST],
    },
    { says: `So:\n<dots_function_call>\n${READ_JSON}\n</dots_function_call>`, calls: [READ], text: "So:" },
    {
      says: `<dots_function_call>\n${READ_JSON.slice(0, -2)}`,
      text: `<dots_function_call>\n${READ_JSON.slice(0, -2)}`,
    },
    { says: "A <dots_function_call> is a mark.", text: "A <dots_function_call> is a mark." },
  ],
  inkling: [
    {
      says: '<|content_thinking|>I might <|message_model|>bash<|content_invoke_tool_json|>{"name":"bash","args":{"command":"ls"}}<|end_message|> or <|message_model|>read<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}<|end_message|>.<|end_message|><|message_model|><|content_text|>No.<|end_message|>',
      text: "No.",
      thinking:
        'I might <|message_model|>bash<|content_invoke_tool_json|>{"name":"bash","args":{"command":"ls"}}<|end_message|> or <|message_model|>read<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}<|end_message|>.',
    },
    {
      says: '<|content_thinking|>I might <|message_model|>bash<|content_invoke_tool_json|>{"name":"bash","args":{"command":"ls"}}<|end_message|><|message_model|>read<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}<|end_message|>, so I stop.',
      thinking:
        'I might <|message_model|>bash<|content_invoke_tool_json|>{"name":"bash","args":{"command":"ls"}}<|end_message|><|message_model|>read<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}<|end_message|>, so I stop.',
    },
    {
      says: '<|content_thinking|>Hm.<|message_model|>bash<|content_invoke_tool_json|>{"name":"bash","args":{"command":"ls"}}<|end_message|>',
      calls: [LIST],
      thinking: "Hm.",
    },
    {
      says: "<|content_thinking|>Hm.<|message_model|>Hm.<|end_message|><|message_model|><|content_text|>Hello.<|end_message|>",
      text: "Hello.",
      thinking: "Hm.<|message_model|>Hm.",
    },
    { says: "<|message_model|>bash<|content_inv", text: "<|message_model|>bash<|content_inv" },
    {
      says: '<|content_thinking|>Hm.<|end_message|><|message_model|><|content_text|>I look.<|end_message|><|message_model|>read<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}<|end_message|><|message_model|>bash<|content_invoke_tool_json|>{"name":"bash","args":{"command":"ls"}}<|end_message|><|content_model_end_sampling|>',
      calls: [READ, LIST],
      text: "I look.",
      thinking: "Hm.",
    },
    { says: 'read<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}<|end_message|>', calls: [READ] },
    { says: "<|content_text|>Hello.<|end_message|><|content_model_end_sampling|>", text: "Hello." },
    { says: "Hello.", text: "Hello." },
    {
      says: '<|message_model|>bash<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}<|end_message|>',
      text: '<|message_model|>bash<|content_invoke_tool_json|>{"name":"read","args":{"path":"a"}}',
    },
  ],
  "command-r7b": [
    {
      says: '<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "read", "parameters": {"path": "a"}},\n    {"tool_call_id": "1", "tool_name": "bash", "parameters": {"command": "ls"}}\n]<|END_ACTION|>',
      calls: [
        { id: "0", ...READ },
        { id: "1", ...LIST },
      ],
      thinking: "Hm.",
    },
    {
      says: '<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n {"tool_call_id": "0", "tool_name": "read", "parameters": {"path": "a"}}\n]<|END_ACTION|>',
      calls: [{ id: "0", ...READ }],
      thinking: "Hm.",
    },
  ],
  apertus: [
    {
      says: '<|inner_prefix|>Hm.<|inner_suffix|><|tools_prefix|>[{"read": {"path": "a"}}, {"bash": {"command": "ls"}}]<|tools_suffix|>',
      calls: [READ, LIST],
      thinking: "Hm.",
    },
  ],
  "functionary-3.1": [
    { says: '<|python_tag|>[read(path="a"), bash(command="ls")]', calls: [READ, LIST] },
    { says: `<|python_tag|>${READ_JSON}<|eom_id|>`, calls: [READ] },
  ],
  "functionary-3.2": [{ says: 'all\nI read.\n>>>read\n{"path": "a"}', calls: [READ], text: "I read." }],
  "seed-oss": [
    {
      says: "<seed:think>Hm.</seed:think>\n<seed:tool_call>\n<function=read>\n<parameter=path>a</parameter>\n</function>\n</seed:tool_call>",
      calls: [READ],
      thinking: "Hm.",
    },
  ],
  "minimax-m2": [
    {
      says: '<minimax:tool_call><invoke name="bash"><parameter name="command"><![CDATA[echo </parameter>]]></parameter></invoke></minimax:tool_call>',
      calls: [{ name: "bash", input: { command: "echo </parameter>" } }],
    },
  ],
  "minicpm-5": [
    {
      says: `<function name="get_weather"><param name="days">3</param><param name="parameters">{"city": "Rome"}</param></function>`,
      calls: [{ name: "get_weather", input: { days: 3, city: "Rome" } }],
    },
    {
      says: `<function name="get_weather"><param name="days">3</param><param name="arguments">{"days": 4}</param></function>`,
      calls: [{ name: "get_weather", input: '{"days": 3, "days": 4}' }],
    },
    { says: `<function name="read"><param name="arguments">{"path": "a"}</param></function>`, calls: [READ] },
    { says: `<function name="bash"><param name="arguments">{"command": "ls"}</param></function>`, calls: [LIST] },
    { says: '<function name="bash"><param name="command"><![CDATA[ls]]></param><param name="more">x</param></function>', calls: [LIST] },
    {
      says: '<function name="bash"><param name="more">x</param></function>',
      text: '<function name="bash"><param name="more">x</param></function>',
    },
  ],
  "minimax-m3": [
    {
      says: '<mm:think>Hm.</mm:think>\nI look.]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">\n]<]minimax[>[<city>Bonn <b>]<]minimax[>[</city>\n]<]minimax[>[<days>3]<]minimax[>[</days>\n]<]minimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[<item>5]<]minimax[>[</item>]<]minimax[>[</tags>\n]<]minimax[>[<deep>]<]minimax[>[<x>]<]minimax[>[<y>true]<]minimax[>[</y>]<]minimax[>[</x>]<]minimax[>[</deep>\n]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name="bash">]<]minimax[>[<command>ls]<]minimax[>[</command>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>',
      calls: [{ name: "get_weather", input: { city: "Bonn <b>", days: 3, tags: ["a", 5], deep: { x: { y: true } } } }, LIST],
      text: "I look.",
      thinking: "Hm.",
    },
    {
      says: ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="write">]<]minimax[>[<path>a</path>]<]minimax[>[<content>b</content>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
      calls: [{ name: "write", input: { path: "a", content: "b" } }],
    },
    {
      says: ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<tags>]<]minimax[>[</tags>]<]minimax[>[<deep>]<]minimax[>[</deep>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>',
      calls: [{ name: "get_weather", input: { tags: [], deep: {} } }],
    },
    {
      says: ']<]minimax[>[<invoke name="read">]<]minimax[>[<path>]<]minimax[>[<invoke name="read">]<]minimax[>[<path>a]<]minimax[>[</path>]<]minimax[>[</invoke>',
      calls: [READ],
      text: ']<]minimax[>[<invoke name="read">]<]minimax[>[<path>',
    },
    {
      says: ']<]minimax[>[<invoke name="read">]<]minimax[>[<path>a]<]minimax[>[</invoke>',
      text: ']<]minimax[>[<invoke name="read">]<]minimax[>[<path>a]<]minimax[>[</invoke>',
    },
  ],
  "command-r-plus": [
    {
      says: 'Plan: I read.\nAction: ```json\n[\n    {\n        "tool_name": "read",\n        "parameters": {\n            "path": "a"\n        }\n    },\n    {"tool_name": "bash", "parameters": {"command": "ls"}}\n]\n```',
      calls: [READ, LIST],
      text: "Plan: I read.",
    },
    { says: 'Action: ```json\n[\n    {\n        "tool_name": "directly_answer",\n        "parameters": {}\n    }\n]\n```' },
    { says: "Action: none.", text: "Action: none." },
  ],
  "tool-calls": [
    {
      says: `<think>Hm.[BEGIN FINAL RESPONSE]\nSo.<tool_calls>[${READ_JSON}]</tool_calls>\n[END FINAL RESPONSE]`,
      calls: [READ],
      text: "So.",
      thinking: "Hm.",
    },
  ],
  "minimax-m1": [
    { says: `<tool_calls>\n${READ_JSON}\n${LIST_JSON}\n</tool_calls>`, calls: [READ, LIST] },
    {
      says: '<tool_calls>\n{"name": "read",\n"arguments": {}}\n</tool_calls>',
      text: '<tool_calls>\n{"name": "read",\n"arguments": {}}\n</tool_calls>',
    },
  ],
  json: [
    { says: `\`\`\`json\n[${READ_JSON}, ${LIST_JSON}]\n\`\`\``, calls: [READ, LIST] },
    {
      says: `{"tool_calls": [${READ_JSON}, {"function": {"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}}]}`,
      calls: [READ, LIST],
    },
    { says: '{"response": "Hello."}', text: "Hello." },
    { says: '{"name": "Ada", "age": 36}', text: '{"name": "Ada", "age": 36}' },
  ],
  react: [
    {
      says: 'Thought: I read.\nAction: read\nAction Input: {"path": "a"}\nObservation: made up\nAction: bash\nAction Input: ls',
      calls: [READ],
      text: "Thought: I read.\n\nObservation: made up\nAction: bash\nAction Input: ls",
    },
    { says: "Action: bash\nAction Input: ls", calls: [LIST] },
    { says: "Action: bash\nAction Input:", text: "Action: bash\nAction Input:" },
    { says: "Action: my-tool\nAction Input:", calls: [{ name: "my-tool", input: {} }] },
    { says: "Action: nothing\nAction Input: x", text: "Action: nothing\nAction Input: x" },
  ],
  solar: [
    {
      says: "<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>my-tool<|tool_call:args|><|tool_call:end|><|calls|>",
      calls: [{ id: "0", name: "my-tool", input: {} }],
    },
    {
      says: "<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>bash<|tool_call:args|><|tool_call:e",
      text: "<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>bash<|tool_call:args|><|tool_call:e",
    },
  ],
  auto: [
    { says: "<think>Hm.</think>Not <s>old</s> but new.", text: "Not <s>old</s> but new.", thinking: "Hm." },
    {
      says: "import functools\nfunctools.reduce(f)\n>>> f <table><tools>",
      text: "import functools\nfunctools.reduce(f)\n>>> f <table><tools>",
    },
    { says: `<tool_call>${READ_JSON}</tool_call><|tool_call|>[${LIST_JSON}]`, calls: [READ, LIST] },
    { says: '<function_calls>\n<invoke name="read">\n<parameter name="path">a</parameter>\n</invoke>\n</function_calls>', calls: [READ] },
    { says: `${READ_JSON} is JSON, and [read(path="a")] is Python.`, text: `${READ_JSON} is JSON, and [read(path="a")] is Python.` },
  ],
};

describe.each(Object.entries(ROWS))("%s", (name, rows) => {
  const format = textFormat(name);

  test.each(rows)("F1.37 F1.41 H07 reads the same however it is split: $says", ({ says, calls = [], text = "", thinking = "" }) => {
    const read = (pieces: readonly string[]): unknown => {
      const { reply } = readPieces(format, pieces);
      return { calls: reply.calls, text: reply.text, thinking: reply.reasoning };
    };
    expect(read([says])).toEqual({ calls, text, thinking });
    fc.assert(
      fc.property(cut(says), (pieces) => {
        expect(read(pieces)).toEqual({ calls, text, thinking });
      }),
      { numRuns: 20 },
    );
  });
});

/** Formats whose models begin calls without closing their thinking, and how those open and close it. */
const UNCLOSED: readonly (readonly [format: string, open: string, close: string])[] = [
  ...["hermes", "qwen3-coder", "glm", "deepseek", "deepseek-dsml", "kimi-k2", "minimax-m2", "auto"].map(
    (name) => [name, "<think>", "</think>"] as const,
  ),
  ["seed-oss", "<seed:think>", "</seed:think>"],
  ["gemma-4", "<|channel>thought\n", "<channel|>"],
  ["kimi-k3", "<|open|>think<|sep|>", "<|close|>think<|sep|>"],
];

test.each(UNCLOSED)(
  "A21 F1.37 %s: a call ends unclosed thinking; before a closing marker, it is part of the thinking",
  (name, open, close) => {
    const format = textFormat(name);
    const call = format.writeCalls([LIST]);
    for (const [begun, options] of [
      [`${open}Hm.`, {}],
      ["Hm.", { thinking: "begun" as const }],
    ] as const) {
      const made = [["bash", { command: "ls" }]];
      expect(readText(format, begun + call, options)).toEqual([made, "", "Hm."]);
      expect(readText(format, `${begun}${call}${close}No.`, options)).toEqual([[], "No.", `Hm.${call}`]);
      expect(readPieces(format, [begun + call], { ...options, ending: { finish: "length" } }).reply.calls).toEqual([]);
      expect(readPieces(format, Array.from(begun + call), options).reply.calls).toMatchObject([LIST]);
    }
  },
);

test("F1.37 dropping an argument that the tool does not have adds a warning", () => {
  const says = '<function name="bash"><param name="command">ls</param><param name="more">x</param></function>';
  const { reply, warnings } = readPieces(textFormat("minicpm-5"), [says]);
  expect(warnings).toEqual(['The call of "bash" has arguments that the tool does not have, which are left out: more.']);
  expect(reply.warnings).toEqual(warnings);
});

test("F1.37 code after Llama's python_tag calls the code tool if there is one, and otherwise stays text", () => {
  const code = "<|python_tag|>print(1)<|eom_id|>";
  const tools = [tool("python", { code: { type: "string" } })];
  const call = ["python", { code: "print(1)" }];
  for (const name of ["functionary-3.1", "llama-3"]) {
    expect(readText(textFormat(name), code, { tools })).toEqual([[call], "", ""]);
    expect(readText(textFormat(name), code)).toEqual([[], "<|python_tag|>print(1)", ""]);
  }
  const next = 'python\nprint(1)\n>>>python\n{"code": "print(1)"}';
  expect(readText(textFormat("functionary-3.2"), next, { tools })).toEqual([[call, call], "", ""]);
  expect(readText(textFormat("functionary-3.2"), "python\nprint(1)")).toEqual([[], "python\nprint(1)", ""]);
  const untold = textFormat("functionary-3.1").decodeText();
  untold.push(code);
  expect(untold.end().at(-1)).toMatchObject({ reply: { calls: [{ name: "python", input: { code: "print(1)" } }] } });
});

test("F1.37 several calls are joined as in the chat templates of their models", () => {
  const calls = [READ, LIST];
  expect(textFormat("gemma-4").writeCalls(calls)).toBe(
    '<|tool_call>call:read{path:<|"|>a<|"|>}<tool_call|><|tool_call>call:bash{command:<|"|>ls<|"|>}<tool_call|>',
  );
  expect(textFormat("kimi-k3").writeCalls(calls)).toBe(
    '<|open|>tools<|sep|><|open|>call tool="read" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>a<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="bash" index="2"<|sep|><|open|>argument key="command" type="string"<|sep|>ls<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
  );
});

test("F1.37 kimi-k3: argument names with quotes and ampersands round-trip", () => {
  const format = textFormat("kimi-k3");
  const input = { 'a "b"': "x", "&quot;": "y", "a's": 1, "a & b": null };
  expect(readText(format, format.writeCalls([{ name: "my-tool", input }]))[0]).toEqual([["my-tool", input]]);
});

test("F1.37 muse-glimmer: a doubled or numbered name is first looked up unchanged", () => {
  const tools = [tool("a", {}), tool("a.a", {}), tool("ns::b", {})];
  const named = (name: string): unknown => readText(textFormat("muse-glimmer"), `<atem:invoke name="${name}"></atem:invoke>`, { tools })[0];
  for (const [name, found] of [
    ["a.a", "a.a"],
    ["a.a:0", "a.a"],
    ["a.a.a.a", "a.a.a.a"],
    ["b.b", "ns::b"],
    ["b.b:1", "ns::b"],
    ["a.b", "a.b"],
  ] as const)
    expect([name, named(name)]).toEqual([name, [[found, {}]]]);
});

test.each([
  ["qwen3-coder", "</function>"],
  ["seed-oss", "</function>"],
  ["minimax-m2", "</invoke>"],
  ["invoke", "</invoke>"],
  ["deepseek-dsml", "</｜DSML｜invoke>"],
  ["kimi-k3", "<|close|>call<|sep|>"],
  ["muse-glimmer", "</atem:invoke>"],
])("F1.9 %s: a call without its own end keeps its input as incomplete text, so that no tool that writes gets it", (name, end) => {
  const format = textFormat(name);
  expect(readText(format, format.writeCalls([LIST]).replace(end, ""))[0]).toEqual([["bash", '{"command": "ls"']]);
  expect(readText(format, format.writeCalls([{ name: "my-tool", input: {} }]).replace(end, ""))[0]).toEqual([["my-tool", "{"]]);
});

describe("react: text instead of an object", () => {
  const react = textFormat("react");
  const tools = [
    tool("list", { path: { type: "string" }, depth: { type: "integer" } }),
    tool("look", { place: { type: "string" }, detail: { type: "string" } }),
  ];

  test("A6: is the only argument that can be a string", () => {
    const { reply, warnings } = readPieces(react, ["Action: list\nAction Input: src"], { tools });
    expect([reply.calls.map(({ input }) => input), warnings]).toEqual([[{ path: "src" }], []]);
  });

  test.each([
    { says: "src\nlib\n\nbin", path: "src\nlib\n\nbin" },
    { says: "\nsrc\nlib\nObservation: made up", path: "src\nlib" },
    { says: "src\nlib\n**Thought:** I see.", path: "src\nlib" },
    { says: "src\nObservation 1: made up\nThought 2: I see.", path: "src" },
    { says: "src\n**Observation**: made up", path: "src" },
    { says: "src\n\n### Final Answer: made up", path: "src" },
    { says: 'src\n  Action: list\nAction Input: {"depth": 1}', path: "src", more: [{ depth: 1 }] },
    { says: "Notes: x\n    Action: y\nObservations: z", path: "Notes: x\n    Action: y\nObservations: z" },
    { says: '"src"\nAction: list\nAction Input: {"depth": 1}', path: "src", more: [{ depth: 1 }] },
  ])("A06 the input is all text up to the next line of the format: $says", ({ says, path, more = [] }) => {
    for (const pieces of [[`Action: list\nAction Input: ${says}`], `Action: list\nAction Input: ${says}`.split("")]) {
      const { reply } = readPieces(react, pieces, { tools });
      expect(reply.calls.map(({ input }) => input)).toEqual([{ path }, ...more]);
    }
  });

  test("A6: is the argument input, without a warning, of a tool that has one", () => {
    const translate = tool("translate", { input: { type: "string" }, language: { type: "string" } });
    const { reply, warnings } = readPieces(react, ["Action: translate\nAction Input: good day"], { tools: [translate] });
    expect([reply.calls.map(({ input }) => input), warnings]).toEqual([[{ input: "good day" }], []]);
  });

  test("A6: is kept with a warning if several arguments can be it", () => {
    const { reply, warnings } = readPieces(react, ["Action: look\nAction Input: shelf"], { tools });
    expect(reply.calls.map(({ input }) => input)).toEqual([{ input: "shelf" }]);
    expect(warnings).toEqual(['The call of "look" has text, but no argument for it; the text is kept as "input".']);
  });
});
