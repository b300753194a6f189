/** Prints how third-party tools differ from their pins. */
import type { DriftState, LockDrift, SeenToolset, ToolDrift, ToolsetDrift } from "../../config/trust/lock-drift.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Tool } from "../../core/tool.ts";
import { plural } from "../../core/base/wording.ts";
import { SuspiciousTextFinder } from "../../trust/suspicious-text.ts";
import type { CommandContext } from "../command.ts";
import { forEachInTurns } from "../for-each-in-turns.ts";
import { waitForDrain } from "../terminal/wait-for-drain.ts";
import { safeText, wrap, type Screen, type Style } from "../terminal/terminal-text.ts";

const MARKS: Readonly<Record<ToolDrift["state"], readonly [mark: string, style: Style]>> = {
  new: ["+", "green"],
  changed: ["~", "yellow"],
  removed: ["-", "red"],
  same: ["=", "dim"],
  unreadable: ["!", "red"],
};

/** Maximum number of characters of a description that are shown. */
const MAX_DESCRIPTION = 10_000;

const STATE_WORDS: Readonly<Record<DriftState, string>> = {
  new: "not pinned yet",
  changed: "changed",
  removed: "no longer there",
  same: "as pinned",
};

/** Prints a line for each toolset, and below it each new, changed or removed tool with its differences. */
export async function printDrift(context: CommandContext, { toolsets }: LockDrift, seen: readonly SeenToolset[]): Promise<void> {
  const { out } = context;
  const finder = new SuspiciousTextFinder();
  for (const drift of toolsets) {
    out.print(`${withMark(out, drift.state, out.paint("bold", safeText(drift.toolset)))}  ${summaryOf(drift)}`);
    writeLines(out, drift.notes, 4);
    for (const tool of drift.tools) {
      if (tool.state === "same") continue;
      await waitForDrain(context);
      printTool(out, tool, findTool(seen, drift.toolset, tool.name), finder);
    }
  }
}

/** Returns the differences as JSON, with the suspicious text of each new or changed tool. */
export async function driftJson(
  { toolsets }: LockDrift,
  seen: readonly SeenToolset[],
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const finder = new SuspiciousTextFinder();
  const all: JsonObject[] = [];
  for (const { toolset, state, notes, tools: drifts } of toolsets) {
    const tools: JsonObject[] = [];
    await forEachInTurns(drifts, signal, ({ name, state: toolState, details }) => {
      tools.push({ name, state: toolState, details, suspicious: suspicionsOf(toolState, findTool(seen, toolset, name), finder) });
    });
    all.push({ toolset, state, notes, tools });
  }
  return all;
}

function printTool(out: Screen, { name, state, details }: ToolDrift, tool: Tool | undefined, finder: SuspiciousTextFinder): void {
  const start = `    ${withMark(out, state, safeText(name))}`;
  const description = state === "new" ? (tool?.description ?? "") : "";
  const fits = !description.includes("\n") && description.length <= out.width - name.length - 8;
  out.print(`${start}${fits ? `  ${safeText(description)}` : ""}`.trimEnd());
  if (!fits) writeLines(out, firstLines(description, out.width - 8), 8);
  writeLines(out, details, 8);
  for (const finding of suspicionsOf(state, tool, finder)) writeLines(out, [`! ${finding}`], 8, "red");
}

/** Returns the lines of a description, as far as a person can be expected to read it. */
function firstLines(description: string, width: number): readonly string[] {
  const start = description.slice(0, MAX_DESCRIPTION);
  const lines = wrap(start, width);
  return start.length === description.length ? lines : [...lines, `… and ${plural(description.length - start.length, "more character")}`];
}

function writeLines(out: Screen, lines: readonly string[], indent: number, style?: Style): void {
  for (const line of lines.flatMap((text) => wrap(text, out.width - indent)))
    out.print(`${line === "" ? "" : " ".repeat(indent)}${style === undefined ? line : out.paint(style, line)}`);
}

function suspicionsOf(state: ToolDrift["state"], tool: Tool | undefined, finder: SuspiciousTextFinder): readonly string[] {
  return tool === undefined || state === "same" ? [] : finder.find(tool);
}

function summaryOf({ state, tools }: ToolsetDrift): string {
  if (state === "removed") return STATE_WORDS.removed;
  const counts = (["new", "changed", "removed", "unreadable"] as const).flatMap((one) => {
    const count = tools.filter((tool) => tool.state === one).length;
    return count === 0 || state === "new" ? [] : [`${count} ${one}`];
  });
  const presentCount = tools.filter((tool) => tool.state !== "removed").length;
  return [plural(presentCount, "tool"), ...(counts.length === 0 ? [STATE_WORDS[state]] : counts)].join(", ");
}

function withMark(out: Screen, state: ToolDrift["state"], text: string): string {
  const [mark, style] = MARKS[state];
  return `${out.paint(style, mark)} ${text}`;
}

function findTool(seen: readonly SeenToolset[], toolset: string, name: string): Tool | undefined {
  return seen.find((one) => one.name === toolset)?.tools.find((tool) => tool.name === name);
}
