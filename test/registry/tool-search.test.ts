import { describe, expect, test } from "vitest";
import type { Tool } from "../../src/core/tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import type { SearchQuery } from "../../src/registry/tool-search.ts";
import { splitWords } from "../../src/registry/split-words.ts";

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { name, description: "", inputSchema: {}, ...more };
}

function found(registry: Registry, query: SearchQuery): readonly string[] {
  return registry.search(query).map((registered) => registered.tool.name);
}

function words(text: string): readonly string[] {
  const all: string[] = [];
  splitWords(text, (word) => all.push(word));
  return all;
}

describe("filters", () => {
  const registry = new Registry();
  for (const one of [
    tool("send_mail", { tags: ["mail", "write"], category: "DANGEROUS" }),
    tool("ReadMail", { tags: ["mail", "read"] }),
    tool("weather", { tags: ["read"], category: "SAFE_CHAIN" }),
    tool("bare"),
  ])
    registry.register(one);

  test("F2.12 nameContains matches part of the name in any case", () => {
    expect(found(registry, { nameContains: "MAIL" })).toEqual(["ReadMail", "send_mail"]);
    expect(found(registry, { nameContains: "default" })).toEqual([]);
  });

  test("F2.12 tags match any of them, or all with matchAllTags, and no tags means no filter", () => {
    expect(found(registry, { tags: ["mail", "read"] })).toEqual(["ReadMail", "send_mail", "weather"]);
    expect(found(registry, { tags: ["mail", "read"], matchAllTags: true })).toEqual(["ReadMail"]);
    expect(found(registry, { tags: [], matchAllTags: true })).toEqual(["ReadMail", "bare", "send_mail", "weather"]);
  });

  test("F2.12 all filters must match, and the result is sorted by name", () => {
    expect(found(registry, { nameContains: "mail", tags: ["read"] })).toEqual(["ReadMail"]);
    expect(found(registry, { nameContains: "mail", text: "weather" })).toEqual([]);
    expect(registry.search().map(({ tool }) => tool.name)).toEqual(["ReadMail", "bare", "send_mail", "weather"]);
    expect(found(registry, {})).toEqual(["ReadMail", "bare", "send_mail", "weather"]);
  });

  test("F3.27 category filters tools", () => {
    expect([found(registry, { category: "DANGEROUS" }), found(registry, { category: "TERMINAL" })]).toEqual([["send_mail"], []]);
  });

  test("limit shortens the result, and must be an integer of at least 1", () => {
    expect(found(registry, { limit: 2 })).toEqual(["ReadMail", "bare"]);
    for (const limit of [0, -1, 1.5, NaN]) expect(() => registry.search({ limit })).toThrow("limit of a search");
  });
});

describe("text", () => {
  test("finds nothing for unknown words, and everything for an empty text", () => {
    const registry = new Registry();
    registry.register(tool("a"));
    expect([found(registry, { text: "zzz" }), found(registry, { text: "!?" }), found(registry, { text: "" })]).toEqual([[], [], ["a"]]);
  });

  test("ranks names above descriptions, rare words above common ones, and more words above fewer", () => {
    const registry = new Registry();
    registry.register(tool("log", { description: "Writes the weather and other things to the log file of the day." }));
    registry.register(tool("get_weather", { description: "Forecast." }));
    registry.register(tool("file_weather_report", { description: "Files the report." }));
    expect(found(registry, { text: "weather" })).toEqual(["get_weather", "file_weather_report", "log"]);
    expect(found(registry, { text: "weather report" })[0]).toBe("file_weather_report");
  });

  test("matches camel case, titles, tags, plurals and the toolset's name", () => {
    const registry = new Registry();
    registry.addToolset({ name: "calendar" }, [
      tool("listHTTPEvents"),
      tool("x", { title: "Delete an entry" }),
      tool("y", { tags: ["holidays"] }),
    ]);
    expect(["http", "event", "listhttpevents", "entries", "holiday"].map((text) => found(registry, { text })[0])).toEqual([
      "listHTTPEvents",
      "listHTTPEvents",
      "listHTTPEvents",
      "x",
      "y",
    ]);
    expect(found(registry, { text: "calendar" })).toHaveLength(3);
  });

  test("sorts equal scores by qualified name, with a limit and without", () => {
    const registry = new Registry();
    for (let at = 999; at >= 100; at--) registry.register(tool(`same_${at}`));
    const all = found(registry, { text: "same" });
    expect(all).toEqual([...all].sort());
    for (const limit of [1, 7, 256, 300]) expect(found(registry, { text: "same", limit })).toEqual(all.slice(0, limit));
  });

  test("updates its index with every later change", () => {
    const registry = new Registry();
    registry.addToolset(
      { name: "s" },
      Array.from({ length: 20 }, (_, at) => tool(`weather_${at}`)),
    );
    expect(found(registry, { text: "weather" })).toHaveLength(20);
    registry.register(tool("weather_new"));
    registry.addTools("s", [tool("weather_brought")]);
    expect(found(registry, { text: "new" })).toEqual(["weather_new"]);
    for (let at = 0; at < 15; at++) registry.unregister(`s::weather_${at}`);
    expect(found(registry, { text: "weather" })).toHaveLength(7);
    expect(found(registry, { text: "weather", nameContains: "brought" })).toEqual(["weather_brought"]);
    registry.removeToolset("s");
    expect(found(registry, { text: "weather" })).toEqual(["weather_new"]);
  });

  test("of any size is indexed and searched only in part", () => {
    const registry = new Registry();
    registry.register(tool("a", { description: `first ${"word ".repeat(1_000_000)} last` }));
    expect([
      found(registry, { text: "first" }),
      found(registry, { text: "last" }),
      found(registry, { text: "word ".repeat(1_000_000) }),
    ]).toEqual([["a"], [], ["a"]]);
  });
});

test.each([
  ["get_user-by.id", ["get", "user", "by", "id"]],
  ["getUserByID", ["get", "user", "by", "id", "getuserbyid"]],
  ["parseHTTPResponse2", ["parse", "http", "response2", "parsehttpresponse2"]],
  ["files, entries; status glass", ["file", "entry", "status", "glass"]],
  ["naïve Überblick 天気", ["naïve", "überblick", "天気"]],
  ["getÜbersichtDaten, ÜBERSICHT", ["get", "übersicht", "daten", "getübersichtdaten", "übersicht"]],
  ["Gro\u0308ße", ["größe"]],
  ["查询天气预报。用GPT翻译", ["查询", "询天", "天气", "气预", "预报", "用", "gpt", "翻译"]],
  ["メールを送信", ["メー", "ール", "ルを", "を送", "送信"]],
  ["이메일을 봄", ["이메", "메일", "일을", "봄"]],
  ["  ", []],
])("splitWords(%j)", (text, expected) => {
  expect(words(text)).toEqual(expected);
});

test.each([
  ["天气", "weather"],
  ["发送邮件", "mail"],
  ["翻訳", "translate"],
  ["번역", "translate_ko"],
  ["แปล", "translate_th"],
  ["Übersicht".normalize("NFD"), "getÜbersicht"],
])("%s is found in text without spaces between words, and in any Unicode normalization", (text, name) => {
  const registry = new Registry();
  const described = {
    weather: "查询天气预报",
    mail: "给收件人发送电子邮件",
    translate: "文章を翻訳します。",
    translate_ko: "글을 번역합니다",
    translate_th: "ช่วยแปลข้อความ",
  };
  for (const [own, description] of Object.entries(described)) registry.register(tool(own, { description }));
  registry.register(tool("getÜbersicht"));
  expect(found(registry, { text })[0]).toBe(name);
});

test.each<SearchQuery>([{ text: "mail" }, { tags: ["mail"] }, { nameContains: "mail" }, {}])(
  "a search of %o finds denied tools only with denied: true",
  (query) => {
    const registry = new Registry({ permission: { deny: ["*::send_mail"] } });
    for (const name of ["read_mail", "send_mail", "write_mail"]) registry.register(tool(name, { tags: ["mail"] }));
    expect(found(registry, query).toSorted()).toEqual(["read_mail", "write_mail"]);
    expect(found(registry, { ...query, denied: true }).toSorted()).toEqual(["read_mail", "send_mail", "write_mail"]);
  },
);
