/** Prints a simulation: the state that would change, the writes that were pretended, and that nothing was changed. */
import { valueText } from "../../core/content.ts";
import { applyPatch, type JsonPatchStep } from "../../core/base/json-patch.ts";
import { unescapePointerStep } from "../../core/base/json-pointer.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { plural } from "../../core/base/wording.ts";
import type { SessionDiff, StateDifference } from "../../session/session-diff.ts";
import type { CommandContext } from "../command.ts";
import { toOneLine, safeText, type Screen } from "../terminal/terminal-text.ts";
import { lineWidth } from "../terminal/text-width.ts";

const NOTHING = "nothing";
/** Matches a key that names the toolset; the same write is listed under its resource key as well. */
const WITHIN_TOOLSET = /^toolset:.*\/writes\//su;
/** Matches keys of engines that remember what they answered. */
const NOTES = /^haft:(?:records|replay|stub):/u;
const MAX_LINES = 20;
const LEAST_VALUE = 12;
/** Number of characters of a common beginning of two values that are shown before their difference. */
const LEAD = 4;

export interface SimulationOutput extends Pick<CommandContext, "options" | "out"> {
  /** The output for lines. @default out */
  readonly screen?: Screen;
}

/** Prints one line of JSON on standard output with `--json`; else lines on the screen, without the internal state of stand-ins. */
export function printSimulation({ options, out, screen = out }: SimulationOutput, { state: all, pretended }: SessionDiff): void {
  if (options.json) {
    out.writeJson({ simulation: { state: all, pretended } });
    return;
  }
  const state = all.filter(({ key }) => !NOTES.test(key));
  const width = lineWidth(screen);
  const writes = pretended.filter((key) => !WITHIN_TOOLSET.test(key));
  printList(screen, "state that would differ", {
    lines: formatChanges(state, width - 2),
    count: state.reduce((sum, { patch }) => sum + patch.length, 0),
  });
  printList(screen, "writes that were only simulated", {
    lines: writes.slice(0, MAX_LINES).map((key) => toOneLine(key, width - 2)),
    count: writes.length,
  });
  const how =
    options.replay === undefined ? "Reads were run; all else was simulated, or done on a branch that is dropped." : "Nothing was run.";
  screen.print(`\n${screen.paint("bold", "Nothing was changed.")} ${how}`);
}

/** The first lines of a list, and its whole length. */
interface PartialList {
  readonly lines: readonly string[];
  readonly count: number;
}

function printList(screen: Screen, title: string, { lines, count }: PartialList): void {
  if (count === 0) return;
  const hidden = count - lines.length;
  const shown = hidden > 0 ? [...lines, `… and ${plural(hidden, "more line")}`] : lines;
  screen.print(`\n${[screen.paint("bold", title), ...shown.map((line) => `  ${line}`)].join("\n")}`);
}

/** Returns one line for each patch step, up to `MAX_LINES`. */
export function formatChanges(state: readonly StateDifference[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const difference of state) {
    let value = difference.before;
    for (const step of difference.patch) {
      if (lines.length === MAX_LINES) return lines;
      const next = applyPatch(value, [step]);
      lines.push(changeLine(difference, { step, from: valueBefore(value, step), width }));
      value = next;
    }
  }
  return lines;
}

interface Change {
  readonly step: JsonPatchStep;
  /** The value before the step. */
  readonly from: JsonValue | undefined;
  readonly width: number;
}

/** Returns `shop cart/items/0: 1 → 2`. Both sides are cut to fit, and begin shortly before their difference. */
function changeLine({ toolset, key }: StateDifference, { step, from, width }: Change): string {
  const place = `${safeText(toolset)} ${toOneLine(key + step.path, width / 2)}: `;
  const room = Math.max(LEAST_VALUE, Math.floor((width - place.length - 3) / 2));
  const [old, now] = [formatValue(from), formatValue(step.op === "remove" ? undefined : step.value)];
  const start = old.length > room || now.length > room ? findDifference(old, now) : 0;
  return `${place}${toOneLine(skipStart(old, start), room)} → ${toOneLine(skipStart(now, start), room)}`;
}

/** Returns where to start two values so that their difference is visible. */
function findDifference(old: string, now: string): number {
  let at = 0;
  while (at < old.length && old[at] === now[at]) at++;
  return Math.max(0, at - LEAD);
}

function skipStart(text: string, start: number): string {
  return start === 0 ? text : `…${text.slice(start).replace(/^[\udc00-\udfff]/u, "")}`;
}

/** Returns the value that a step replaces or removes; undefined for a step that adds one. */
function valueBefore(value: JsonValue | undefined, { op, path }: JsonPatchStep): JsonValue | undefined {
  if (op === "add") return undefined;
  let found = value;
  for (const token of path.split("/").slice(1)) {
    const key = unescapePointerStep(token);
    if (isJsonArray(found)) found = found[Number(key)];
    else if (isJsonObject(found) && Object.hasOwn(found, key)) found = found[key];
    else return undefined;
  }
  return found;
}

function formatValue(value: JsonValue | undefined): string {
  return value === undefined ? NOTHING : typeof value === "string" ? JSON.stringify(value) : valueText(value);
}
