/** Puts an approval to the person at the terminal. */
import type { ApprovalAnswer, ApprovalRequest } from "../core/ask.ts";
import { safeText } from "./terminal-text.ts";
import type { Paint } from "./terminal-text.ts";

export interface AskOptions {
  readonly ask: (question: string, signal: AbortSignal) => Promise<string>;
  readonly say: (text: string) => void;
  readonly paint: Paint;
}

const ANSWERS: ReadonlyMap<string, ApprovalAnswer> = new Map([
  ["y", "allow-once"],
  ["yes", "allow-once"],
  ["a", "allow-always"],
  ["always", "allow-always"],
  ["n", "deny"],
  ["no", "deny"],
  ["", "deny"],
]);

/** Questions of calls that run side by side are asked one after another. */
let line: Promise<unknown> = Promise.resolve();

/** Shows the whole call and asks until the answer is yes, no or always. Just Enter means no. */
export function askPerson(request: ApprovalRequest, options: AskOptions): Promise<ApprovalAnswer> {
  const answer = line.then(() => askUntilClear(request, options));
  line = answer.catch(() => {});
  return answer;
}

async function askUntilClear(request: ApprovalRequest, options: AskOptions): Promise<ApprovalAnswer> {
  options.say(`\n  ${options.paint("yellow", `? ${safeText(request.toolName)} wants to run: ${safeText(request.reason)}`)}\n${safeText(JSON.stringify(request.input, undefined, 2)).replaceAll(/^/gmu, "    ")}\n`);
  for (;;) {
    const text = await options.ask("  Allow it? [y]es, [n]o, [a]lways in this session: ", request.signal);
    const answer = ANSWERS.get(text.trim().toLowerCase());
    if (answer !== undefined) return answer;
    options.say("  Type y, n or a.\n");
  }
}
