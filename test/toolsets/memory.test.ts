import { describe, expect, test } from "vitest";
import { memoryStore } from "../../src/store/memory-store.ts";
import { memoryToolset, type MemoryOptions } from "../../src/toolsets/memory.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

const WEATHER = ["Rain over Bergen, bring a coat.", "The harbour is closed on Monday.", "Tickets cost 40 euros."];

function bench(options: MemoryOptions = {}) {
  const say = tool("say", ({ at }) => WEATHER[Number(at)] ?? "");
  const made = testRuntime({
    toolsets: [memoryToolset(options)],
    tools: [say],
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  const session = made.runtime.session("s");
  const search = async (input: object, from = session): Promise<string> =>
    String((await from.execute({ name: "search_memory", input })).output ?? "");
  return { ...made, session, search };
}

describe("F1.70 search_memory", () => {
  test("F1.70 finds a word of an earlier result or message in the log, the best first and at most k", async () => {
    const { session, search } = bench();
    await session.execute(WEATHER.map((_, at) => ({ name: "say", input: { at } })));
    await session.addMessage({ role: "user", content: "I live near the harbour." });
    const found = (await search({ query: "harbours closed" })).split("\n\n");
    expect(found).toEqual([
      expect.stringMatching(/^\[\S+Z say, session s\] \{"at":1\} → The harbour is closed on Monday\.$/u),
      expect.stringMatching(/^\[\S+Z user, session s\] I live near the harbour\.$/u),
    ]);
    expect((await search({ query: "harbour", k: 1 })).split("\n\n")).toHaveLength(1);
    expect(await search({ query: "volcano" })).toBe('Nothing was found for "volcano".');
  });

  test("F1.70 does not find its own answers, or results of calls that were rolled back", async () => {
    const { runtime, session, search } = bench();
    runtime.registry.register(
      tool("fail", () => {
        throw new Error("broken");
      }),
    );
    await expect(session.execute([{ name: "say", input: { at: 2 } }, { name: "fail" }], { onError: "throw" })).rejects.toThrow();
    expect(await search({ query: "tickets" })).toBe('Nothing was found for "tickets".');
    expect(await search({ query: "tickets" })).toBe('Nothing was found for "tickets".');
  });

  test("F1.70 with embed finds by meaning, alone or together with words, and embeds each text once", async () => {
    const asked: string[] = [];
    const embed: NonNullable<MemoryOptions["embed"]> = (texts) => {
      asked.push(...texts);
      return Promise.resolve(texts.map((text) => [/rain|coat|wet/iu.test(text) ? 1 : 0, /euro|price|ticket/iu.test(text) ? 1 : 0]));
    };
    const { session, search } = bench({ embed });
    await session.execute(WEATHER.map((_, at) => ({ name: "say", input: { at } })));
    expect(await search({ query: "wet", mode: "keyword" })).toMatch(/^Nothing/u);
    expect(await search({ query: "wet", mode: "semantic" })).toMatch(/Rain over Bergen/u);
    expect(await search({ query: "price of Monday" })).toMatch(/Tickets[^]*harbour|harbour[^]*Tickets/u);
    expect(asked.filter((text) => text.includes("Tickets"))).toHaveLength(1);
  });

  test("F1.70 an invalid return value of embed is an error result", async () => {
    const { session } = bench({ embed: () => Promise.resolve([]) });
    await session.addMessage({ role: "user", content: "x" });
    expect((await session.execute({ name: "search_memory", input: { query: "x" } })).error?.message).toMatch(
      /must return one array of numbers/u,
    );
  });

  test("F1.70 an allows function that returns a promise allows nothing", async () => {
    const store = memoryStore();
    const { runtime, search } = bench({ store, allows: (() => Promise.resolve(false)) as never });
    const other = runtime.session("private");
    await other.addMessage({ role: "user", content: "The code is walnut." });
    await other.close();
    expect(await search({ query: "walnut" })).toBe('Nothing was found for "walnut".');
  });

  test("F1.70 searches other sessions of a store where allows permits it, or one of them by its id", async () => {
    const store = memoryStore();
    const { runtime, session, search } = bench({ store, allows: (id) => id !== "private" });
    for (const id of ["a", "private"]) {
      const other = runtime.session(id);
      await other.addMessage({ role: "user", content: `The code of ${id} is walnut.` });
      await other.close();
    }
    await session.addMessage({ role: "user", content: "No walnut here." });
    const found = await search({ query: "walnut" });
    expect(found).toContain("The code of a is walnut.");
    expect(found).toContain("No walnut here.");
    expect(found).not.toContain("private");
    expect(await search({ query: "walnut", session: "a" })).toMatch(/^\[\S+ user, session a\][^\n]*$/u);
    expect((await session.execute({ name: "search_memory", input: { query: "x", session: "private" } })).error?.code).toBe("not_found");
  });

  test("F1.70 can search a session by its id even if it is not among the 200 most recently used", async () => {
    const asked: string[] = [];
    const { runtime, search, session } = bench({ store: memoryStore(), allows: (id) => (asked.push(id), id !== "shut") });
    for (const id of ["old", "shut", ...Array.from({ length: 200 }, (_, at) => `s${at}`)]) {
      const other = runtime.session(id);
      await other.addMessage({ role: "user", content: `The code of ${id} is walnut.` });
      await other.close();
    }
    expect(await search({ query: "walnut", session: "old" })).toMatch(/The code of old is walnut\.$/u);
    expect(asked.filter((id) => id === "old")).toHaveLength(1);
    for (const id of ["shut", "none"]) {
      const { error } = await session.execute({ name: "search_memory", input: { query: "walnut", session: id } });
      expect(error).toMatchObject({ code: "not_found", message: `There is no session "${id}" to search.` });
    }
  });

  test("F1.70 searches at most 16 million characters: the latest, and those of its own session first", async () => {
    const { runtime, session, search } = bench({ store: memoryStore() });
    await runtime.session("other").addMessage({ role: "user", content: "Of another session." });
    await session.addMessage({ role: "user", content: "Of long ago." });
    for (let count = 0; count < 2_000; count++) await session.addMessage({ role: "user", content: `page${count} ${"x".repeat(8_000)}` });
    expect(await search({ query: "ago" })).toBe('Nothing was found for "ago".');
    expect(await search({ query: "another" })).toBe('Nothing was found for "another".');
    expect(await search({ query: "another", session: "other" })).toMatch(/Of another session\.$/u);
    for (const page of ["page0", "page1999"]) expect(await search({ query: page })).toContain(page);
  });

  test("F1.70 leaves out only its own answers, whatever the toolset is named", async () => {
    const { runtime, session, search } = bench({ name: "past" });
    runtime.registry.register(tool("research_memory", () => "Rain in Oslo."));
    await session.execute({ name: "research_memory" });
    for (let count = 0; count < 2; count++) expect(await search({ query: "Oslo rain" })).toMatch(/^\[[^\n]*Rain in Oslo\.$/u);
  });

  test("F1.70 a call outside of a session is rejected", async () => {
    const { runtime } = bench();
    expect((await runtime.execute({ name: "search_memory", input: { query: "walnut" } })).error?.code).toBe("unavailable");
  });
});
