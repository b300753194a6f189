/** Puts approvals to the person at the terminal. */
import { setImmediate } from "node:timers/promises";
import type { ApprovalAnswer, ApprovalRequest, Approver } from "../core/ask.ts";
import type { Ask, CommandContext } from "./command.ts";
import { safeJson, safeText } from "./terminal-text.ts";
import type { Screen } from "./terminal-text.ts";

const ANSWERS: ReadonlyMap<string, ApprovalAnswer> = new Map([
  ["y", "allow-once"],
  ["yes", "allow-once"],
  ["a", "allow-always"],
  ["always", "allow-always"],
  ["n", "deny"],
  ["no", "deny"],
  ["", "deny"],
]);

/** Says yes with `--yes`, else asks the person at the terminal; undefined when nobody is there. */
export function personApprover({ options, ask, err }: CommandContext): Approver | undefined {
  if (options.yes) return () => "allow-once";
  return ask === undefined ? undefined : askPerson(ask, err);
}

/**
 * An approver that shows the whole call and asks until the answer is yes, no or always; just Enter means no.
 * Questions of calls that run side by side are asked one after another.
 */
function askPerson(ask: Ask, screen: Screen): Approver {
  let queue: Promise<unknown> = Promise.resolve();
  return (request) => {
    const answer = queue.then(() => askUntilClear(request, ask, screen));
    // The turn in between lets an "always" withdraw the questions it answers as well.
    queue = answer.catch(() => {}).then(() => setImmediate());
    return answer;
  };
}

async function askUntilClear(request: ApprovalRequest, ask: Ask, screen: Screen): Promise<ApprovalAnswer> {
  request.signal.throwIfAborted(); // answered while it stood in line, by an "always" or the end of the call
  const input = safeJson(request.input, 2).replaceAll(/^/gmu, "    ");
  screen.write(`\n  ${screen.paint("yellow", `? May ${safeText(request.toolName)} run? ${safeText(request.reason)}`)}\n${input}\n`);
  for (;;) {
    const text = await ask("  [y]es, [n]o, [a]lways in this session: ", request.signal);
    const answer = ANSWERS.get(text.trim().toLowerCase());
    if (answer !== undefined) return answer;
    screen.write("  Type y, n or a.\n");
  }
}
