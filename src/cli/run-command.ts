/** `haft run`: plays a conversation through the tools and tells what happens. */
import type { Command } from "./command.ts";
import { readConversation } from "./conversation.ts";
import { withRuntime } from "./open-runtime.ts";
import { Play } from "./play.ts";
import { readInput } from "./read-input.ts";

export const runCommand: Command = {
  name: "run",
  usage: "<file | ->",
  summary: "Play a conversation through the tools.",
  details: [
    "The conversation is JSON Lines, from a file or, with -, from standard input:",
    "",
    '  {"role": "user", "content": "What do the notes say?"}',
    '  {"role": "assistant", "calls": [{"name": "files::read", "input": {"path": "notes.md"}}]}',
    '  {"role": "approver", "answer": "allow-once", "afterMs": 500}',
    "",
    "The calls of one line run together. Lines of the roles user, assistant and",
    "system are shown, lines of the role tool are passed over. An approver line",
    "answers the next call that asks for approval: allow-once, allow-always or deny.",
    "",
    "A bad line is refused before anything runs. Exits with 0 when the conversation",
    "was played to its end, whatever the tools answered. With --json each result is",
    "one line, in call order; nothing else goes to standard output, except the error",
    "that ends a run early.",
  ],
  args: [1, 1],
  options: ["yes"],
  examples: ["haft run conversation.jsonl", "haft run conversation.jsonl --json | jq .status", "haft run - --yes < conversation.jsonl"],
  async run(context) {
    const [file = ""] = context.args;
    const lines = readConversation(await readInput(context, file), file === "-" ? "standard input" : file);
    const play = new Play(context, lines);
    await withRuntime(context, { onEvent: (event) => play.notice(event), approve: play.approver }, (open) => play.run(open));
    play.printSummary();
    context.signal.throwIfAborted();
    return 0;
  },
};
