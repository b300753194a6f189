/** Output of the commands that list what a store has. */
import type { CommandContext } from "../command.ts";
import { waitForDrain } from "../terminal/wait-for-drain.ts";

export interface ListWords {
  /** Maximum number of items that are shown; if there are more, a terminal shows a note. @default all */
  readonly limit?: number;
  /** Which items are shown if there are more. @default "newest" */
  readonly shown?: "newest" | "first";
  /** The text for a terminal if there are no items. */
  readonly none: string;
}

/**
 * Prints one JSON object a line with `--json`, else the lines that `format` returns. Waits for a slow reader between two of them.
 *
 * @throws the signal's reason
 */
export async function printList<Item>(
  context: Pick<CommandContext, "options" | "out" | "signal">,
  found: readonly Item[],
  { limit = Infinity, shown = "newest", none }: ListWords,
  format: (items: readonly Item[]) => Iterable<string>,
): Promise<void> {
  const { options, out } = context;
  const items = found.slice(0, limit);
  if (options.json) return printEach(context, items, (item) => out.writeJson(item));
  await printEach(context, format(items), (line) => out.print(line));
  if (found.length > limit && out.isTerminal) out.print(out.paint("dim", `the ${shown} ${limit}; --limit shows more`));
  if (found.length === 0 && out.isTerminal) out.print(out.paint("dim", none));
}

/** Prints one item after another, and waits for a slow reader between two of them. @throws the signal's reason */
async function printEach<Item>(
  context: Pick<CommandContext, "out" | "signal">,
  items: Iterable<Item>,
  print: (item: Item) => void,
): Promise<void> {
  for (const item of items) {
    await waitForDrain(context);
    print(item);
  }
}
