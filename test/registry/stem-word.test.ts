import fc from "fast-check";
import { expect, test } from "vitest";
import { Registry } from "../../src/registry/registry.ts";
import { stemWord } from "../../src/registry/stem-word.ts";

test.each([
  ["convert converts converted converting converter converters"],
  ["currency currencies"],
  ["translate translates translated translating translation translations translator"],
  ["address addresses"],
  ["stop stops stopped stopping"],
  ["validate validated validation validates validator"],
  ["delete deletes deleted deleting deletion"],
  ["box boxes"],
])("%s share one stem", (family) => {
  expect(new Set(family.split(" ").map(stemWord)).size).toBe(1);
});

test("different words have different stems; short words and words in other alphabets are unchanged", () => {
  expect(new Set(["rate", "rain", "new", "sing", "bring", "speed", "red"].map(stemWord)).size).toBe(7);
  expect(["api", "id", "状态", "größe", "v2", "état"].map(stemWord)).toEqual(["api", "id", "状态", "größe", "v2", "état"]);
});

test("any word starts with its stem, or with all but the stem's last letter", () => {
  fc.assert(
    fc.property(fc.string(), (word) => {
      const stem = stemWord(word);
      return word.startsWith(stem) || word.startsWith(stem.slice(0, -1));
    }),
  );
});

test("a search matches parameters, other word forms and whole sentences; stop words count only alone", () => {
  const registry = new Registry();
  const schema = { type: "object", properties: { mxServer: { type: "string", description: "Whose deliverability is judged." } } };
  registry.register({ name: "convert_currency", description: "Changes an amount of money.", inputSchema: {} });
  registry.register({ name: "check", description: "Checks a mailbox.", inputSchema: schema });
  registry.register({
    name: "about_me",
    description: "Says who you are, to whom it may concern, with what you have and need.",
    inputSchema: {},
  });
  const first = (text: string): string | undefined => registry.search({ text, limit: 1 })[0]?.tool.name;
  expect(first("I need help with what I have: could you please tell me about converting currencies?")).toBe("convert_currency");
  expect([first("MX server"), first("deliverability")]).toEqual(["check", "check"]);
  expect(first("about me")).toBe("about_me");
});
