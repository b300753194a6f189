/** `haft info`: everything about one tool. */
import { readDocumentation } from "../../config/tables/documentation-config.ts";
import { valueText } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonSchema } from "../../core/tool.ts";
import { serverStateOf } from "../../engine/known-tools.ts";
import type { ServerState } from "../../engine/lazy-server.ts";
import type { DocumentationOverrides } from "../../registry/documentation.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { blockedText } from "../open/blocked-tools.ts";
import type { CommandBody } from "../command.ts";
import { namespaceOf, withRuntime } from "../open/open-runtime.ts";
import { thirdPartyToolsets, findSuspicions } from "../open/suspicious-tools.ts";
import { columnWidth, formatDuration, safeJson, safeText, wrap, wrapAfter, type Screen } from "../terminal/terminal-text.ts";
import { padColumns } from "../terminal/text-width.ts";
import { isRepeatable, retryCaution } from "../open/tool-cautions.ts";
import { effectWord } from "../../registry/effect-word.ts";
import { definitionOf } from "../print/print-tools.ts";

export const infoCommand: CommandBody = {
  details: [
    "The name is qualified, as in files::read, or bare where only one tool has it.",
    "With --json: the tool's definition and settings, one line for each overload.",
  ],
  args: [1, 1],
  options: ["config"],
  examples: ["haft info files::edit", "haft info edit --json | jq .inputSchema"],
  async run(context) {
    const [name = ""] = context.args;
    return withRuntime(context, { only: namespaceOf(name) }, async (open) => {
      const overrides = await readDocumentation(open.config.config.documentation);
      const tools = resolveTools(open.runtime.registry, name);
      const thirdParty = thirdPartyToolsets(open);
      const texts = tools.map((tool) => {
        const suspicious = findSuspicions(tool, thirdParty);
        return context.options.json
          ? jsonOf(tool, suspicious)
          : formatTool(tool, { suspicious, documentation: findDocumentation(tool, overrides) }, context.out);
      });
      if (context.options.json) context.out.write(`${texts.join("\n")}\n`);
      else context.out.print(texts.join("\n\n"));
      return 0;
    });
  },
};

/** Like `Registry.resolve`, but also finds tools that the permission rules deny: the author of the rules may look at them. */
function resolveTools(registry: Registry, name: string): readonly RegisteredTool[] {
  const found = registry.resolve(name);
  if (!(found instanceof ToolError)) return found;
  const denied = registry.overloads(name).filter((registered) => registered.denied !== undefined);
  if (denied.length === 0) throw found;
  return denied;
}

function jsonOf(registered: RegisteredTool, suspicious: readonly string[]): string {
  return safeJson({
    ...definitionOf(registered),
    ...(registered.blocked === undefined ? {} : { blocked: blockedText(registered) }),
    settings: registered.settings,
    ...(suspicious.length === 0 ? {} : { suspicious }),
  });
}

/** Returns the documentation that the configuration gives the tool, else the tool's own. */
function findDocumentation({ qualifiedName, tool }: RegisteredTool, overrides: DocumentationOverrides): string | undefined {
  return overrides.get(qualifiedName) ?? overrides.get(tool.name) ?? tool.documentation;
}

interface ToolNotes {
  readonly suspicious: readonly string[];
  readonly documentation: string | undefined;
}

function formatTool(registered: RegisteredTool, { suspicious, documentation }: ToolNotes, { paint, width }: Screen): string {
  const { tool, settings } = registered;
  const caution = retryCaution(registered);
  const limit = (ms: number): string => (ms === 0 ? "no limit" : formatDuration(ms));
  const facts = [
    ["Denied", registered.denied ?? ""],
    ["Blocked", blockedText(registered)],
    ["Effects", effectsOf(registered)],
    ["Time", `${limit(settings.timeoutMs)} for an attempt, ${limit(settings.deadlineMs)} for the call with its waits and retries`],
    ["Attempts", attemptsOf(registered)],
    ["Server", serverWords(registered)],
    ["Tags", (tool.tags ?? []).join(", ")],
  ].filter(([, value]) => value !== "");
  const sections = [
    [paint("bold", safeText(registered.qualifiedName)), ...wrap(tool.description, width)],
    ...suspicionLines(suspicious, { paint, width }),
    ["Input", ...schemaLines(tool.inputSchema, width)],
    ...(tool.outputSchema === undefined ? [] : [["Output", ...schemaLines(tool.outputSchema, width)]]),
    facts.map(([name = "", value = ""]) => wrapAfter(`${name.padEnd(9)} `, value, width)),
    ...(caution === undefined ? [] : [wrap(`! ${caution}`, width)]),
    ...(documentation === undefined ? [] : [wrap(documentation, width)]),
  ];
  return sections.map((lines) => lines.join("\n")).join("\n\n");
}

/** Says how often a call is attempted. A call that may have had an effect is not repeated, whatever `maxAttempts` is. */
function attemptsOf(registered: RegisteredTool): string {
  const { maxAttempts } = registered.settings;
  if (maxAttempts <= 1 || isRepeatable(registered)) return `at most ${maxAttempts}`;
  return `1 once a call has begun, because it is not declared repeatable; else at most ${maxAttempts}`;
}

/** Says whether the server of a lazy toolset runs, and so whether the definition is current; "" for other toolsets. */
function serverWords({ toolset: { engine } }: RegisteredTool): string {
  const state = engine === undefined ? undefined : serverStateOf(engine);
  return state === undefined ? "" : SERVER_WORDS[state];
}

const SERVER_WORDS: Readonly<Record<ServerState, string>> = {
  configured: "not open",
  known: "not started; the definition is from an earlier start",
  started: "running",
  used: "running",
};

/** Returns a section to print under the description; none if nothing is suspicious. */
function suspicionLines(suspicious: readonly string[], { paint, width }: Pick<Screen, "paint" | "width">): readonly (readonly string[])[] {
  if (suspicious.length === 0) return [];
  return [["Suspicious", ...suspicious.flatMap((finding) => wrap(finding, width - 4)).map((line) => `  ${paint("red", `! ${line}`)}`)]];
}

function effectsOf(registered: RegisteredTool): string {
  const { effects } = registered.tool;
  const word = effectWord(registered);
  return [
    word === "undeclared"
      ? `undeclared: assumed to write everything of ${registered.toolset.name}`
      : word === "composite"
        ? "composite: it makes other calls"
        : word,
    ...(isRepeatable(registered) ? ["may be repeated"] : []),
    ...(effects?.external === true ? ["reaches outside"] : []),
  ].join(", ");
}

/** Returns one line for each property, or the schema itself if it has no properties. */
function schemaLines(schema: JsonSchema, width: number): readonly string[] {
  const properties = typeof schema === "object" && isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  if (properties.length === 0)
    return safeJson(schema, 2)
      .split("\n")
      .flatMap((line) => wrap(line, width - 2))
      .map((line) => `  ${line}`);
  const required: readonly unknown[] = typeof schema === "object" && Array.isArray(schema["required"]) ? schema["required"] : [];
  const rows = properties.map(([name, property]) => {
    const facts = isJsonObject(property) ? property : {};
    const type =
      facts["enum"] === undefined ? (facts["type"] === undefined ? "any" : valueText(facts["type"])) : JSON.stringify(facts["enum"]);
    const words = [
      required.includes(name) ? "required" : "",
      facts["default"] === undefined ? "" : `default ${JSON.stringify(facts["default"])}`,
      typeof facts["description"] === "string" ? facts["description"] : "",
    ];
    return [safeText(name), safeText(type), words.filter((part) => part !== "").join("; ")] as const;
  });
  const columns = [
    columnWidth(
      rows.map(([name]) => name),
      24,
    ),
    columnWidth(
      rows.map(([, type]) => type),
      24,
    ),
  ] as const;
  return rows.map(([name, type, words]) => {
    return wrapAfter(`  ${padColumns(name, columns[0])}  ${padColumns(type, columns[1])}  `, words, width);
  });
}
