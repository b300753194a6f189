import { describe, expect, test } from "vitest";
import { parseJsonPath, withValueAt } from "../../src/toolsets/files/json-path.ts";
import { TemporaryWorkspace } from "./temporary-workspace.ts";

describe("F1.68 json_read", () => {
  test("F1.68 reports that a file is not UTF-8, without mention of a change", async () => {
    const workspace = new TemporaryWorkspace({ "a.json": Buffer.from('"\u00e9"', "latin1") });
    expect((await workspace.refusal("json_read", { path: "a.json" })).message).toBe(
      '"a.json" is not UTF-8 text, and no other encoding is supported here.',
    );
  });

  const DOCUMENT = JSON.stringify({ a: { b: [{ c: 1 }, null], "d.e": "x", __proto: 0 }, "1": true });
  const read = async (at: string): Promise<unknown> => {
    const workspace = new TemporaryWorkspace({ "a.json": DOCUMENT });
    return workspace.call("json_read", { path: "a.json", at }).then(
      ({ output }) => output,
      (error: Error) => error.message,
    );
  };

  test.each([
    ["a.x", '$.a has no key "x": it is an object with the keys "b", "d.e", "__proto".'],
    ["a.b[2]", "$.a.b has no index 2: it is an array of 2 items."],
    ["a.b.length", '$.a.b has no key "length": it is an array of 2 items.'],
    ["a.b[1].c", '$.a.b[1] has no key "c": it is null.'],
    ["__proto__", '$ has no key "__proto__": it is an object with the keys "1", "a".'],
    ["constructor.name", '$ has no key "constructor": it is an object with the keys "1", "a".'],
    ["a..b", '"a..b" is not a place in a JSON document.'],
    ["a[", '"a[" is not a place in a JSON document.'],
    ["a[-1]", '"a[-1]" is not a place in a JSON document.'],
    ["[0]b", '"[0]b" is not a place in a JSON document.'],
  ])("F1.68 %s does not resolve, and the error says where it ends", async (at, message) => {
    expect(await read(at)).toBe(message);
  });

  test.each([
    ["a.b[0].c", 1],
    ["a.b.0.c", 1],
    ["$.a.b[1]", null],
    ['a["d.e"]', "x"],
    ["1", true],
    ["", JSON.parse(DOCUMENT) as unknown],
    ["$", JSON.parse(DOCUMENT) as unknown],
  ])("F1.68 %s resolves to one value", async (at, value) => {
    expect(await read(at)).toEqual(value);
  });

  test("F1.68 a number with too many digits is not read, and is unchanged when another value is set", async () => {
    const workspace = new TemporaryWorkspace({ "a.json": "[12345678901234567890,1]" });
    await workspace.call("read", { path: "a.json" });
    expect((await workspace.refusal("json_read", { path: "a.json" })).message).toMatch(/would lose digits/);
    await workspace.call("json_write", { path: "a.json", at: "[1]", value: 2 });
    expect(workspace.text("a.json")).toBe("[12345678901234567890,2]");
  });

  test.each([
    ["broken JSON", '{"a":', /^"a.json": Not valid JSON at line 1/],
    ["A05 a million brackets", "[".repeat(1_000_000), /nests deeper than 64 levels/],
    ["A06 more than 4 MiB", JSON.stringify("x".repeat(4 * 1024 * 1024)), /4194304 is the limit/],
    [
      "an object of 60,000 keys",
      JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, key) => [`key${key}`, 1]))),
      /50000 keys/,
    ],
  ])("F1.68 a file with %s is rejected", async (_what, content, message) => {
    const workspace = new TemporaryWorkspace({ "a.json": content });
    await workspace.call("read", { path: "a.json" });
    expect((await workspace.refusal("json_read", { path: "a.json" })).message).toMatch(message);
    expect((await workspace.refusal("json_write", { path: "a.json", at: "[0]", value: 1 })).message).toMatch(message);
    expect(workspace.text("a.json")).toBe(content);
  });
});

describe("F1.68 json_write", () => {
  const write = async (before: string, at: string, value: unknown): Promise<string> => {
    const workspace = new TemporaryWorkspace({ "a.json": before });
    await workspace.call("json_read", { path: "a.json" });
    return workspace.call("json_write", { path: "a.json", at, value }).then(
      () => workspace.text("a.json"),
      (error: Error) => error.message,
    );
  };

  test.each([
    ['{"a":[1]}', "a[2]", 0, "$.a has no index 2: it is an array of 1 item."],
    ['{"a":[1]}', "a.x", 0, '$.a has no key "x": it is an array of 1 item.'],
    ['{"a":1}', "a.b", 0, '$.a has no key "b": it is a number.'],
    ['{"a":1.0}', "a.rawJSON", 0, '$.a has no key "rawJSON": it is a number.'],
  ])("F1.68 %s at %s cannot be set, and the file is unchanged", async (before, at, value, message) => {
    expect(await write(before, at, value)).toBe(message);
  });

  test("F1.68 a value nested too deep to be read again is rejected", async () => {
    const deep = JSON.parse("[".repeat(60) + "]".repeat(60)) as unknown;
    expect(await write("{}", "a.b.c.d.e", deep)).toContain("nests deeper than 59 levels");
  });

  test.each([
    ["a nested path is created", "{}", "a.b.c", 1, '{"a":{"b":{"c":1}}}'],
    ["arrays for indexes in brackets", "{}", "a[0].b", 1, '{"a":[{"b":1}]}'],
    ["an item is replaced", '{"a":[1,2]}', "a.1", 3, '{"a":[1,3]}'],
    ["an item is added", '{"a":[1]}', "a[1]", 2, '{"a":[1,2]}'],
    ["the whole document", '{"a":1}', "", [1], "[1]"],
    ["text that is a number", "{}", "a", "5", '{"a":5}'],
    ["text that is an object", "{}", "a", '{"b":[true]}', '{"a":{"b":[true]}}'],
    ["text that is a quoted string", "{}", "a", '"5"', '{"a":"5"}'],
    ["text that is not JSON", "{}", "a", "five", '{"a":"five"}'],
    ["digits kept as text", "{}", "a", "12345678901234567890", '{"a":"12345678901234567890"}'],
    ["a key that could reach a prototype", "{}", "__proto__.x", 1, '{"__proto__":{"x":1}}'],
    ["other keys in their order", '{"z":1,"a":2}', "m", 3, '{"z":1,"a":2,"m":3}'],
    [
      "other numbers as they are written",
      '{"a":[19.90,1e22,0.12345678901234567],"b":1}',
      "b",
      2,
      '{"a":[19.90,1e22,0.12345678901234567],"b":2}',
    ],
  ])("F1.68 sets a value: %s", async (_what, before, at, value, after) => {
    expect(await write(before, at, value)).toBe(after);
    expect(Object.hasOwn(Object.prototype, "x")).toBe(false);
  });

  test.each([
    ["four spaces", '{\n    "a": 1\n}\n', '{\n    "a": 2\n}\n'],
    ["tabs, no last line end", '{\n\t"a": 1\n}', '{\n\t"a": 2\n}'],
    ["Windows line ends", '{\r\n  "a": 1\r\n}\r\n', '{\r\n  "a": 2\r\n}\r\n'],
    ["a byte order mark", '\ufeff{"a": 1}', '\ufeff{"a": 2}'],
    ["one line and its end", '{"a":1,"b":[1]}\n', '{"a":2,"b":[1]}\n'],
    ["keys that are numbers in their place", '{"b":0,"a":1,"10":{"z":1,"2":1},"2":3}', '{"b":0,"a":2,"10":{"z":1,"2":1},"2":3}'],
    ["the layout around the value", '{\n  "l": [1, 2],\n\n  "a": 1, "u": "\\u00e9"\n}', '{\n  "l": [1, 2],\n\n  "a": 2, "u": "\\u00e9"\n}'],
    ["a key with an escape", '{"\\u0061" : 1}', '{"\\u0061" : 2}'],
  ])("F1.68 the file keeps %s", async (_what, before, after) => {
    expect(await write(before, "a", 2)).toBe(after);
  });

  test.each([
    [
      "a member in a line of its own",
      '{\n  "10": 1,\n  "2": 2\n}',
      "1",
      { x: [] },
      '{\n  "10": 1,\n  "2": 2,\n  "1": {\n    "x": []\n  }\n}',
    ],
    ["a member in the same line", '{\n  "o": {"a": 1}\n}', "o.b", { x: 1 }, '{\n  "o": {"a": 1, "b": {"x":1}}\n}'],
    ["an item", '{\r\n\t"l": [\r\n\t\t1\r\n\t]\r\n}', "l[1]", [2], '{\r\n\t"l": [\r\n\t\t1,\r\n\t\t[\r\n\t\t\t2\r\n\t\t]\r\n\t]\r\n}'],
    ["the first member", '{\n    "o": {}\n}', "o.a", 1, '{\n    "o": {\n        "a": 1\n    }\n}'],
    ["parents in place of null", '{"b":null,"1":0}', "b.c", 1, '{"b":{"c":1},"1":0}'],
  ])("F1.68 adds %s", async (_what, before, at, value, after) => {
    expect(await write(before, at, value)).toBe(after);
  });

  test("F1.68 any change of a value changes the text as it changes the document", async () => {
    const before = { z: [1, { "10": "]}", "2": null }, []], "10": { "": [[]], 'q"': { n: 1 } }, n: null, "\\": {} };
    const places = [
      "z[0]",
      "z[1].10",
      "z[1].2.x",
      "z[2][0].y",
      "z[3]",
      "10",
      '["10"][""][0][0]',
      '["10"]["q\\""].m',
      "n",
      "n.n",
      '["\\\\"].k',
      "new[0]",
    ];
    for (const at of places)
      for (const indent of [undefined, 1, "\t"]) {
        const changed = await write(JSON.stringify(before, null, indent), at, { v: [1] });
        const whole = withValueAt(before, parseJsonPath(at), { v: [1] });
        expect([at, JSON.parse(changed)]).toEqual([at, whole]);
      }
  });

  test("F1.68 a missing file is created with two spaces of indentation", async () => {
    const workspace = new TemporaryWorkspace();
    expect(await workspace.call("json_write", { path: "x/a.json", at: "a.b", value: true })).toMatchObject({
      text: "Created x/a.json.",
      output: { path: "x/a.json", created: true, at: "a.b", value: true },
    });
    expect(workspace.text("x/a.json")).toBe('{\n  "a": {\n    "b": true\n  }\n}\n');
  });
});
