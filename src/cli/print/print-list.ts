/** Output of the commands that list what a store has. */
import type { CommandContext } from "../command.ts";

export interface ListWords {
  /** Maximum number of items that are shown; if there are more, a terminal shows a note. @default all */
  readonly limit?: number;
  /** Which items are shown if there are more. @default "newest" */
  readonly shown?: "newest" | "first";
  /** The text for a terminal if there are no items. */
  readonly none: string;
}

/** Prints one JSON object a line with `--json`, else calls `print`. */
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
