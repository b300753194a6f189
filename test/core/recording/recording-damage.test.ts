import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { parseRecording } from "../../../src/core/recording/recording.ts";
import { FACT, FIRST, answer, forge, read, say, write } from "./recording-lines.ts";
import { testInCI } from "../../test-in-ci.ts";

const CUT_SHORT = { code: "corrupt_record", message: expect.stringMatching(/^line \d+: the recording was cut short/u) };

describe("I01 a damaged recording is read up to the damage, and no event is made up", () => {
  const events = [
    say("one"),
    say("two ".repeat(300)),
    answer("c", { list: [1, 2, 3] }),
    say([{ type: "image", mediaType: "image/png", data: "AA==" }]),
  ];

  test("when it is cut short at any place", async () => {
    const text = (await write(events)).join("");
    for (let length = 0; length < text.length - 1; length++) {
      const { events: before, error } = await read(text.slice(0, length));
      expect(error, `cut at ${length}`).toMatchObject({ code: "corrupt_record" });
      expect(before).toEqual(events.slice(0, before.length));
    }
    expect(await read(text.slice(0, text.indexOf('{"end"')))).toEqual({ events, error: CUT_SHORT });
  });

  testInCI("any character changed", async () => {
    const text = (await write(events)).join("");
    const place = fc.integer({ min: 0, max: text.length - 2 });
    await fc.assert(
      fc.asyncProperty(place, fc.string({ unit: "binary", minLength: 1, maxLength: 1 }), async (at, char) => {
        fc.pre(char !== text[at] && !(char === "\r" && text[at + 1] === "\n"));
        const { events: before, error } = await read(`${text.slice(0, at)}${char}${text.slice(at + 1)}`);
        expect(error).toMatchObject({ code: "corrupt_record" });
        expect(before).toEqual(events.slice(0, before.length));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each<readonly [string, (lines: readonly string[]) => readonly string[]]>([
    ["two lines in another order", ([a = "", b = "", c = "", ...rest]) => [a, c, b, ...rest]],
    ["a line twice", ([a = "", b = "", ...rest]) => [a, b, b, ...rest]],
    ["a line left out", ([a = "", , ...rest]) => [a, ...rest]],
  ])("%s", async (_, change) => {
    const reading = await read(change(await write([say("one"), say("two"), say("three")])));
    expect(
      reading.events.every((event, index) => JSON.stringify(event) === JSON.stringify([say("one"), say("two"), say("three")][index])),
    ).toBe(true);
    expect(reading.error).toEqual({
      code: "corrupt_record",
      message: expect.stringMatching(
        /^line \d: the checksum is wrong: the line was changed, or lines before it are missing or in another order\.$/u,
      ),
    });
  });

  test.each<readonly [string, string, string, number]>([
    ["nothing at all", "", "line 1: the recording is empty.", 0],
    ["no recording", '{"a":1}\n', "line 1: this is not a recording of Haft: $.haft is missing; expected one of recording.", 0],
    ["no JSON", "hello\n", 'line 1: Not valid JSON at line 1, column 1: expected a value, found "hello".', 0],
    [
      "a later version",
      forge([{ ...FIRST, version: 2 }]),
      "line 1: the recording is of version 2; this version of Haft reads version 1.",
      0,
    ],
    [
      "no session",
      forge([{ haft: "recording", version: 1 }]),
      "line 1: this is not a recording of Haft: $.sessionId is missing; expected a string of 1 to 1024 characters.",
      0,
    ],
    ["a list for a line", forge([FIRST]) + "[]\n", "line 2: a line of a recording is a JSON object.", 0],
    ["a blank line", forge([FIRST]) + "\n\n", "line 2: Not valid JSON at line 2, column 1: the text ends too early.", 0],
    [
      "a line without a sum",
      forge([FIRST]) + '{"end":{"events":0}}\n',
      "line 2: the checksum is wrong: the line was changed, or lines before it are missing or in another order.",
      0,
    ],
    ["bad JSON", forge([FIRST, '{"event":{"type" "x"}}']), 'line 2: Not valid JSON at line 2, column 18: expected ":", found "\\"".', 0],
    [
      "a key twice",
      forge([FIRST, '{"end":{"events":0,"events":1}}']),
      'line 2: Not valid JSON at line 2, column 20: the key "events" is given twice in one object.',
      0,
    ],
    ["a line of no known kind", forge([FIRST, { note: "hi" }]), "line 2: $.end is missing; expected an object.", 0],
    [
      "no event",
      forge([FIRST, { event: say("ok") }, { event: { type: "call-end" } }]),
      "line 3: $.sessionId is missing; expected a string of 1 to 1024 characters.",
      1,
    ],
    [
      "another hash",
      forge([FIRST, { body: hash("sha256", "a"), text: "b" }]),
      "line 2: the SHA-256 of the text is not the one that was recorded for it.",
      0,
    ],
    [
      "no hash",
      forge([FIRST, { body: "../../etc/passwd", text: "b" }]),
      'line 2: $.body is "../../etc/passwd"; expected a SHA-256 in hex.',
      0,
    ],
    [
      "a text that is not there",
      forge([FIRST, { event: { type: "message-add", ...FACT, message: { role: "user", content: { $body: "ab" } } } }]),
      'line 2: the event refers to a text that is not there: "ab".',
      0,
    ],
    [
      "a reference with something beside it",
      forge([
        FIRST,
        { body: hash("sha256", "a"), text: "a" },
        { event: { type: "message-add", ...FACT, message: { role: "user", content: { $body: hash("sha256", "a"), more: 1 } } } },
      ]),
      'line 3: the event refers to a text that is not there: "".',
      0,
    ],
    [
      "a long event that is not there",
      forge([FIRST, { large: "0".repeat(64) }]),
      `line 2: the event refers to a text that is not there: "${"0".repeat(64)}".`,
      0,
    ],
    [
      "a long event that is not JSON",
      forge([FIRST, { body: hash("sha256", "{"), text: "{" }, { large: hash("sha256", "{") }]),
      "line 3: the long event: Not valid JSON at line 1, column 2: the text ends too early.",
      0,
    ],
    [
      "parts in another order",
      forge([FIRST, { body: hash("sha256", "ab"), part: 2, parts: 2, text: "b" }]),
      "line 2: the parts of a long text are not in order.",
      0,
    ],
    [
      "a part left out",
      forge([
        FIRST,
        { body: hash("sha256", "ab"), part: 1, parts: 3, text: "a" },
        { body: hash("sha256", "ab"), part: 3, parts: 3, text: "b" },
      ]),
      "line 3: the parts of a long text are not in order.",
      0,
    ],
    [
      "an event between parts",
      forge([FIRST, { body: hash("sha256", "ab"), part: 1, parts: 2, text: "a" }, { event: say("x") }]),
      "line 3: $.body is missing; expected a SHA-256 in hex.",
      0,
    ],
    [
      "another number of events",
      forge([FIRST, { event: say("ok") }, { end: { events: 2 } }]),
      "line 3: the recording should have 2 events and has 1.",
      1,
    ],
    [
      "something after the end",
      forge([FIRST, { end: { events: 0 } }, { event: say("late") }]),
      "line 3: something follows the end of the recording.",
      0,
    ],
    ["white space after the end", forge([FIRST, { end: { events: 0 } }]) + " \n", "line 3: something follows the end of the recording.", 0],
    ["no end", forge([FIRST, { event: say("ok") }]), "line 3: the recording was cut short: it has no last line after 1 event.", 1],
  ])("%s", async (_, text, message, readable) => {
    expect(await read(text)).toEqual({
      events: Array.from({ length: readable }, () => say("ok")),
      error: { code: "corrupt_record", message },
    });
    expect(() => parseRecording(text)).toThrow(message);
  });

  test("C09 a line without an end is rejected at the size limit", async () => {
    let given = 0;
    function* endless(): Generator<string> {
      yield forge([FIRST, { event: say("ok") }]);
      for (;;) {
        given++;
        yield '{"a":'.repeat(200_000);
      }
    }
    expect(await read(endless())).toEqual({
      events: [say("ok")],
      error: { code: "corrupt_record", message: "line 3: the line is longer than 33554432 characters." },
    });
    expect(given).toBe(34);
  });

  test("C09 a small file that expands to a huge event is rejected before the event is built", async () => {
    const text = "x".repeat(1_000_000);
    const body = hash("sha256", text);
    const output = Array.from({ length: 100_000 }, () => ({ $body: body }));
    const bomb = forge([FIRST, { body, text }, { event: { ...answer("c", 0), result: { output } } }]);
    expect(await read(bomb)).toEqual({
      events: [],
      error: { code: "corrupt_record", message: "line 3: $.result.output[134]: more text than is allowed." },
    });
  });

  test("nesting beyond the limit is rejected with line and column", async () => {
    expect(await read(forge([FIRST, `{"event":${"[".repeat(100_000)}}`]))).toEqual({
      events: [],
      error: { code: "corrupt_record", message: "line 2: The JSON text nests deeper than 132 levels, at line 2, column 141." },
    });
  });
});
