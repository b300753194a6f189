/** The prompt on streams of its own; with real terminals in `chat-process.test.ts`. */
import { PassThrough } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { TerminalPrompt } from "../../src/cli/terminal/terminal-prompt.ts";

/** A prompt, what it shows, and what types at it. */
function terminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = "";
  output.setEncoding("utf8").on("data", (text: string) => (shown += text));
  const screen = Object.assign(output, { isTTY: true, columns: 80 });
  const prompt = new TerminalPrompt({ input, output: screen, marksPastes: true, onInterrupt: () => {} });
  const until = (text: string) => vi.waitFor(() => expect(shown).toContain(text));
  return { prompt, until, type: (keys: string) => void input.write(keys), shown: () => shown };
}

const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";

const { signal } = new AbortController();

test("a prompt that is requested while a question is open waits for the answer", async () => {
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

test("a question that arrives while a prompt is open goes first, and the prompt keeps the text typed so far", async () => {
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

test("a paste that arrives in pieces is one answer up to its end mark, however long it takes", async () => {
  const { prompt, until, type } = terminal();
  const message = prompt.ask("you ", signal, { isPrompt: true });
  await until("\u001b[?2004h");
  type(`${PASTE_START}first\nsec`);
  await until("sec");
  await setTimeout(150); // longer than without marks a pause within a paste may be
  type(`ond\nthird${PASTE_END}`);
  expect(await message).toBe("first\nsecond\nthird");
  await until("\u001b[?2004l");
});

test("a question that arrives during a paste is not answered by the pasted text", async () => {
  const { prompt, until, type } = terminal();
  const message = prompt.ask("you ", signal, { isPrompt: true });
  await until("you ");
  type(`${PASTE_START}first\n`);
  await until("first");
  const question = prompt.ask("May it run? ", signal);
  expect(await message).toBe("first");
  type(`y\ny${PASTE_END}`);
  await until("May it run? ");
  type("n\r");
  expect(await question).toBe("n");
});

test("Ctrl-D typed before a prompt ends it; Ctrl-Space at the prompt, the same character, does not", async () => {
  const { prompt, until, type } = terminal();
  type("\u0000"); // as a terminal keeps Ctrl-D that no program has read
  expect(await prompt.ask("you ", signal, { isPrompt: true })).toBe(undefined);
  const message = prompt.ask("and ", signal, { isPrompt: true });
  await until("and ");
  await setTimeout(150); // what was typed ahead has come by then
  type("\u0000Hello.\r");
  expect(await message).toBe("Hello.");
});
