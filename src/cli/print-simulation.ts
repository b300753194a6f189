/** What a simulation came to: the values that would be others, what was only pretended, and that nothing was changed. */
import { valueText } from "../core/content.ts";
import type { JsonValue } from "../core/json.ts";
import type { SessionDiff, StateDifference } from "../runtime/session/session-diff.ts";
import type { CommandContext } from "./command.ts";
import { oneLine, plural, safeJson, safeText } from "./terminal-text.ts";
import type { Screen } from "./terminal-text.ts";

const NOTHING = "nothing";
/** Says of a key that stands in the list as well whose it is. */
const WITHIN_TOOLSET = /^toolset:.*\/writes\//su;
const MAX_LINES = 20;
const FILE_WIDTH = 120;
const LEAST_VALUE = 12;

export interface SimulationOutput extends Pick<CommandContext, "options" | "out"> {
  /** Where the lines go. @default out */
  readonly screen?: Screen;
}

/** With `--json` one line on standard output; else lines on the screen. */
export function printSimulation({ options, out, screen = out }: SimulationOutput, { state, pretended }: SessionDiff): void {
  if (options.json) {
    out.write(`${safeJson({ simulation: { state, pretended } })}\n`);
    return;
  }
  const width = screen.width === Infinity ? FILE_WIDTH : screen.width;
  const changes = state.map((difference) => changeLine(difference, width - 2));
  const writes = pretended.filter((key) => !WITHIN_TOOLSET.test(key)).map((key) => oneLine(key, width - 2));
  printList(screen, "state that would differ", changes);
  printList(screen, "writes that were only pretended", writes);
  screen.write(
    `\n${screen.paint("bold", "Nothing was changed.")} Reads were run; all else was pretended, or done on a branch that is dropped.\n`,
  );
}

function printList(screen: Screen, title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  const hidden = lines.length - MAX_LINES;
  const shown = hidden > 0 ? [...lines.slice(0, MAX_LINES), `… and ${plural(hidden, "more line")}`] : lines;
  screen.write(`\n${screen.paint("bold", title)}\n${shown.map((line) => `  ${line}\n`).join("")}`);
}

/** `files reads: {} → {"plan.md":1}`, both sides cut to what fits. */
function changeLine({ toolset, key, before, after }: StateDifference, width: number): string {
  const place = `${safeText(toolset)} ${oneLine(key, width / 2)}: `;
  const room = Math.max(LEAST_VALUE, Math.floor((width - place.length - 3) / 2));
  return `${place}${oneLine(spell(before), room)} → ${oneLine(spell(after), room)}`;
}

function spell(value: JsonValue | undefined): string {
  return value === undefined ? NOTHING : typeof value === "string" ? JSON.stringify(value) : valueText(value);
}
