/** `haft search`: finds tools by text or tags. */
import { ToolError } from "../../core/error.ts";
import { printBlockedNote } from "../open/blocked-tools.ts";
import type { CommandBody } from "../command.ts";
import { warn, withRuntime } from "../open/open-runtime.ts";
import { printTools } from "../print/print-tools.ts";

const DEFAULT_LIMIT = 20;
const EXIT_NOTHING_FOUND = 1;

export const searchCommand: CommandBody = {
  details: [
    "The words are looked for in names, titles, tags and descriptions: one is enough,",
    "more and rarer ones rank higher. A tool that the permission rules deny is marked",
    "as denied. Exits with 1 when nothing is found.",
  ],
  args: [0, Infinity],
  options: ["config", "tag", "all-tags", "limit"],
  examples: ["haft search read a file", "haft search --tag money --tag weather", "haft search report --limit 3 --json"],
  async run(context) {
    const text = context.args.join(" ");
    const { tag, allTags, limit } = context.options;
    if (text.trim() === "" && tag.length === 0) {
      throw new ToolError("invalid_argument", "haft search needs words or a --tag to search for.", {
        hint: "For example: haft search read a file. To see all tools: haft list.",
      });
    }
    return withRuntime(context, {}, ({ runtime }) => {
      const found = runtime.registry.search({ text, tags: tag, matchAllTags: allTags, limit: limit ?? DEFAULT_LIMIT, denied: true });
      printTools(context, found);
      printBlockedNote(context, runtime.registry);
      if (found.length > 0) return 0;
      warn(context, "No tool matches. haft list shows all of them.");
      return EXIT_NOTHING_FOUND;
    });
  },
};
