import { expect, test } from "vitest";
import { createRedactor } from "../../src/core/secrets/redact.ts";
import { StderrTail } from "../../src/processes/stderr-tail.ts";

const SECRET = "canary-secret-0123456789";

function linesOf(...written: readonly string[]): readonly string[] {
  const words = new StderrTail(createRedactor({ TOKEN: SECRET }));
  for (const text of written) words.push(Buffer.from(text));
  return words.lines();
}

test("a secret is redacted in the stderr tail", () => {
  expect(linesOf(`login with ${SECRET}\n`, "refused\n")).toEqual(["login with [TOKEN]", "refused"]);
});

test("a secret written in several chunks is redacted", () => {
  expect(linesOf(`login with ${SECRET.slice(0, 9)}`, `${SECRET.slice(9)}\n`)).toEqual(["login with [TOKEN]"]);
});

test.each(["\u001b[31m", "\u200b", "\u0007"])("a secret with an invisible character inside is redacted: %j", (mark) => {
  expect(linesOf(`login with ${SECRET.slice(0, 9)}${mark}${SECRET.slice(9)}\n`)).toEqual(["login with [TOKEN]"]);
});

test("wherever the kept end of the text begins, no part of a secret is shown", () => {
  const kept = 8 * 1024;
  for (let part = 0; part <= SECRET.length; part++) {
    const line = `${SECRET}${"x".repeat(20)}\n`;
    const lines = linesOf(line, `${"y".repeat(kept - line.length + part - 1)}\n`);
    expect(lines.join("\n")).not.toMatch(/0123456789|canary/u);
    expect(linesOf(`${SECRET} ${"y".repeat(kept - SECRET.length - 1 + part)}`).join("\n")).not.toMatch(/456789|canary/u);
  }
});
