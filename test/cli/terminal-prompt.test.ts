/** The prompt on streams of its own; with real terminals in `chat-process.test.ts`. */
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { TerminalPrompt } from "../../src/cli/terminal-prompt.ts";

/** A prompt, what it shows, and what types at it. */
function terminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = "";
  output.setEncoding("utf8").on("data", (text: string) => (shown += text));
  const prompt = new TerminalPrompt({ input, output: Object.assign(output, { isTTY: true, columns: 80 }), onInterrupt: () => {} });
  const until = (text: string) => vi.waitFor(() => expect(shown).toContain(text));
  return { prompt, until, type: (keys: string) => void input.write(keys), shown: () => shown };
}

const { signal } = new AbortController();

test("a prompt that comes while a question is open waits for its answer", async () => {
  const { prompt, until, type, shown } = terminal();
  const question = prompt.ask("May it run? ", signal);
  await until("May it run? ");
  const message = prompt.ask("\nyou ", signal, { isPrompt: true });
  type("y\r");
  expect(await question).toBe("y");
  await until("you ");
  type("Thanks.\r");
  expect(await message).toBe("Thanks.");
  expect(shown().match(/you/gu)).toHaveLength(1);
});

test("a question that comes while a prompt is open goes first, and the prompt has again what was typed", async () => {
  const { prompt, until, type } = terminal();
  const message = prompt.ask("\nyou ", signal, { isPrompt: true });
  await until("you ");
  type("Than");
  await until("Than");
  const question = prompt.ask("May it run? ", signal);
  await until("May it run? ");
  type("y\r");
  expect(await question).toBe("y");
  type("ks.\r");
  expect(await message).toBe("Thanks.");
});
