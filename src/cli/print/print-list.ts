/** The output of the commands that list what a store has. */
import type { CommandContext } from "../command.ts";

export interface ListWords {
  /** How many are shown at most; if more were found, a terminal shows a note. @default all */
  readonly limit?: number;
  /** Which of them are shown then. @default "newest" */
  readonly shown?: "newest" | "first";
  /** The text for a terminal if there are none. */
  readonly none: string;
}

/** With `--json` one object a line, else what `print` prints of them. */
export function printList<Item>(
  { options, out }: CommandContext,
  found: readonly Item[],
  { limit = Infinity, shown = "newest", none }: ListWords,
  print: (items: readonly Item[]) => void,
): void {
  const items = found.slice(0, limit);
  if (options.json) {
    for (const item of items) out.writeJson(item);
    return;
  }
  print(items);
  if (found.length > limit && out.isTerminal) out.print(out.paint("dim", `the ${shown} ${limit}; --limit shows more`));
  if (found.length === 0 && out.isTerminal) out.print(out.paint("dim", none));
}
