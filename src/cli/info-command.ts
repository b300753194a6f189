/** `haft info`: everything there is to know about one tool. */
import { isJsonObject } from "../core/json.ts";
import { valueText } from "../core/content.ts";
import type { RegisteredTool } from "../runtime/registered-tool.ts";
import { toolDefinition } from "../runtime/tool-definition.ts";
import type { Command, CommandContext } from "./command.ts";
import { effectWords } from "./list-command.ts";
import { withRuntime } from "./open-runtime.ts";
import { duration, oneLine, safeText } from "./terminal-text.ts";

export const infoCommand: Command = {
  name: "info",
  usage: "<tool>",
  summary: "Show a tool's description, input, effects and limits.",
  args: [1, 1],
  options: [],
  examples: ["haft info files::edit", "haft info edit --json"],
  async run(context) {
    const [name = ""] = context.args;
    return withRuntime(context, {}, ({ runtime }) => {
      const resolved = runtime.registry.resolve(name);
      if (!Array.isArray(resolved)) throw resolved;
      const tools: readonly RegisteredTool[] = resolved;
      if (context.options.json) context.stdout.write(`${JSON.stringify(tools.map((registered) => ({ ...toolDefinition(registered), name: registered.qualifiedName, settings: registered.settings })))}\n`);
      else for (const registered of tools) context.stdout.write(`${describe(registered, context).join("\n")}\n`);
      return 0;
    });
  },
};

function describe(registered: RegisteredTool, { paint, width }: CommandContext): readonly string[] {
  const { tool, settings, quarantine } = registered;
  const none = (ms: number): string => (ms === 0 ? "none" : duration(ms));
  const lines = [paint("bold", safeText(registered.qualifiedName)), safeText(tool.description), ""];
  if (quarantine !== undefined) lines.push(paint("red", `Cannot be called: ${safeText(quarantine.message)}`), "");
  lines.push("Input", ...propertyLines(tool.inputSchema, width));
  if (tool.outputSchema !== undefined) lines.push("Output", ...propertyLines(tool.outputSchema, width));
  lines.push(
    `Effects   ${effectWords(registered)}${tool.effects?.idempotent === true ? ", may be repeated" : ""}${tool.effects?.external === true ? ", reaches outside" : ""}`,
    `Timeout   ${none(settings.timeoutMs)} an attempt, ${none(settings.deadlineMs)} in all; at most ${settings.maxAttempts} attempts`,
  );
  if ((tool.tags ?? []).length > 0) lines.push(`Tags      ${(tool.tags ?? []).map(safeText).join(", ")}`);
  if (tool.documentation !== undefined) lines.push("", safeText(tool.documentation));
  return lines;
}

function propertyLines(schema: RegisteredTool["tool"]["inputSchema"], width: number): readonly string[] {
  const properties = typeof schema === "object" && isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required: readonly unknown[] = typeof schema === "object" && Array.isArray(schema["required"]) ? schema["required"] : [];
  const names = Object.keys(properties);
  if (names.length === 0) return [`  ${typeof schema === "boolean" ? String(schema) : oneLine(JSON.stringify(schema), width - 4)}`];
  const column = Math.min(24, Math.max(...names.map((name) => name.length)));
  return names.map((name) => {
    const property = properties[name];
    const facts = isJsonObject(property) ? property : {};
    const type = facts["enum"] === undefined ? valueText(facts["type"] ?? "any") : JSON.stringify(facts["enum"]);
    const rest = [required.includes(name) ? "required" : "", facts["default"] === undefined ? "" : `default ${JSON.stringify(facts["default"])}`, typeof facts["description"] === "string" ? facts["description"] : ""];
    return oneLine(`  ${safeText(name).padEnd(column)}  ${type}  ${rest.filter((part) => part !== "").join(". ")}`, width).padStart(0).replace(/^/u, "  ");
  });
}
