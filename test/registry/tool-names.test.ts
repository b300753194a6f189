import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/tool.ts";
import { Registry } from "../../src/registry/registry.ts";
import { providerName } from "../../src/wire/provider-name.ts";

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object" }, ...more };
}

function registryOf(toolsets: Readonly<Record<string, readonly string[]>>, warnings: string[] = []): Registry {
  const registry = new Registry({ onWarning: (message) => warnings.push(message) });
  for (const [name, tools] of Object.entries(toolsets))
    registry.addToolset(
      { name },
      tools.map((one) => tool(one)),
    );
  return registry;
}

/** The qualified names a name means, or the error's code, message and hint. */
function meaning(registry: Registry, name: string): readonly (string | undefined)[] {
  const resolved = registry.resolve(name);
  if (resolved instanceof ToolError) return [resolved.code, resolved.message, ...(resolved.hint === undefined ? [] : [resolved.hint])];
  return resolved.map((registered) => registered.qualifiedName);
}

describe("an unknown tool name", () => {
  test("F3.5 is answered with near names: qualified, or bare in the default namespace", () => {
    const registry = registryOf({ web: ["search", "fetch"], mail: ["send"], default: ["read_file"] });
    expect(meaning(registry, "serch")).toEqual(["not_found", 'No tool "serch". Did you mean "web::search"?']);
    expect(meaning(registry, "ReadFile")).toEqual(["not_found", 'No tool "ReadFile". Did you mean "read_file"?']);
    expect(meaning(registry, "web::serch")).toEqual(["not_found", 'No tool "web::serch". Did you mean "web::search"?']);
  });

  test("F3.5 is answered with the tool whose name it spells with another separator", () => {
    const registry = registryOf({ todo: ["list"], web: ["search"] });
    for (const name of ["todo_list", "todo.list", "todo/list", "todo-list"])
      expect(meaning(registry, name)).toEqual(["not_found", `No tool ${JSON.stringify(name)}. Did you mean "todo::list"?`]);
  });

  test("F0.5 resolves if it is exactly the provider name of a tool, hashed names included", () => {
    const registry = registryOf({ todo: ["finish", "a b"], default: ["x__y", "z"] });
    for (const name of ["todo::finish", "todo::a b", "default::x__y"]) {
      expect(meaning(registry, providerName(name))).toEqual([name]);
      expect(registry.get(providerName(name))?.qualifiedName).toBe(name);
    }
    expect(meaning(registry, "default__z")[0]).toBe("not_found");
    expect(meaning(registry, "todo__finish__0123456789abcdef")[0]).toBe("not_found");
  });

  test("F0.5 also resolves as a hashed provider name after tools were added and removed", () => {
    const long = (end: string): string => `todo::${"x".repeat(80)}${end}`;
    const registry = registryOf({ todo: [long("a").slice(6)] });
    expect(meaning(registry, providerName(long("a")))).toEqual([long("a")]);
    registry.register(tool(long("b").slice(6)), "todo");
    expect(meaning(registry, providerName(long("b")))).toEqual([long("b")]);
    registry.unregister(long("a"));
    expect(meaning(registry, providerName(long("a")))[0]).toBe("not_found");
  });

  test("is answered with the toolset that does not exist, and the tool in a toolset of a near name", () => {
    const registry = registryOf({ web: ["search"] });
    expect(meaning(registry, "wbe::search")).toEqual([
      "not_found",
      'No tool "wbe::search": there is no toolset "wbe". Did you mean "web::search"?',
    ]);
  });

  test("is compared with its toolset's tools by the tool's part, not by the namespace", () => {
    const registry = registryOf({ a_long_toolset_name: ["get", "sum"] });
    expect(meaning(registry, "a_long_toolset_name::xyz")[1]).toBe('No tool "a_long_toolset_name::xyz".');
    expect(meaning(registry, "a_long_toolset_name::gett")[1]).toBe(
      'No tool "a_long_toolset_name::gett". Did you mean "a_long_toolset_name::get"?',
    );
  });

  test("is answered with all tools when none is near and there are few", () => {
    expect(meaning(registryOf({ web: ["search", "fetch"] }), "qqqqqq")).toEqual([
      "not_found",
      'No tool "qqqqqq".',
      'Tools: "web::fetch", "web::search".',
    ]);
    expect(meaning(registryOf({ web: Array.from({ length: 11 }, (_, at) => `tool_number_${at}`) }), "qqqqqq")).toEqual([
      "not_found",
      'No tool "qqqqqq". No tool has a name like it.',
    ]);
    expect(meaning(registryOf({}), "x")).toEqual(["not_found", 'No tool "x". There are no tools.']);
  });

  test("is quoted only in part when it is long", () => {
    const [code, message] = meaning(registryOf({ web: ["search"] }), "x".repeat(100_000));
    expect(code).toBe("not_found");
    expect(message?.length).toBeLessThan(300);
  });

  test("is never answered with a disabled tool", () => {
    const registry = registryOf({ web: ["search"], other: ["read"] });
    registry.setEnabled("web", false);
    expect(meaning(registry, "serch")).toEqual(["not_found", 'No tool "serch".', 'Tools: "other::read".']);
  });
});

test("A02 names such as __proto__ are tools when they are registered, and unknown otherwise", () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype"];
  const empty = registryOf({ s: ["other"] });
  for (const name of names) {
    expect(meaning(empty, name)[0]).toBe("not_found");
    expect([empty.has(name), empty.get(name), empty.has(`${name}::${name}`), empty.unregister(name), empty.removeToolset(name)]).toEqual([
      false,
      undefined,
      false,
      false,
      false,
    ]);
  }
  const registry = new Registry();
  for (const name of names) registry.addToolset({ name }, [tool(name, { tags: [name] })]);
  for (const name of names) {
    expect(meaning(registry, name)).toEqual([`${name}::${name}`]);
    expect(registry.search({ text: name }).map((found) => found.tool.name)).toEqual([name]);
    expect(registry.search({ tags: [name] })).toHaveLength(1);
  }
  expect(registry.namespaces()).toEqual([...names].sort());
});

test("F0.5 only the first :: separates, and a single colon is part of a name", () => {
  const registry = registryOf({ x: ["a:b", "c::d", "::e"] });
  expect(meaning(registry, "x::a:b")).toEqual(["x::a:b"]);
  expect(meaning(registry, "a:b")).toEqual(["x::a:b"]);
  expect(meaning(registry, "x::c::d")).toEqual(["x::c::d"]);
  expect(meaning(registry, "c::d")).toEqual(["x::c::d"]);
  expect(meaning(registry, "x::::e")).toEqual(["x::::e"]);
});

test("F0.5 a qualified name takes precedence over a tool whose own name has the separator", () => {
  const registry = registryOf({ default: ["x::get"], x: ["get"] });
  expect(meaning(registry, "x::get")).toEqual(["x::get"]);
  expect(meaning(registry, "default::x::get")).toEqual(["default::x::get"]);
});

describe("a name in several toolsets", () => {
  test("F0.3 F4.7 is exact when qualified and ambiguous when bare, the default namespace included", () => {
    const registry = registryOf({ weather: ["get"], default: ["get"], mail: ["get", "only"] });
    expect(meaning(registry, "weather::get")).toEqual(["weather::get"]);
    expect(meaning(registry, "only")).toEqual(["mail::only"]);
    expect(meaning(registry, "get")).toEqual([
      "ambiguous",
      '"get" is a tool of 3 toolsets.',
      'Call "default::get", "mail::get" or "weather::get".',
    ]);
  });

  test("is unique again when the others are removed or disabled", () => {
    const registry = registryOf({ a: ["get"], b: ["get"], c: ["get"] });
    registry.removeToolset("a");
    registry.setEnabled("b::get", false);
    expect(meaning(registry, "get")).toEqual(["c::get"]);
    registry.setEnabled("b::get", true);
    registry.setEnabled("c", false);
    expect(meaning(registry, "get")).toEqual(["b::get"]);
    registry.setEnabled("b", false);
    expect(meaning(registry, "get")).toEqual(["unavailable", 'The toolset "b" is disabled.']);
    registry.unregister("b::get");
    expect(meaning(registry, "get")).toEqual(["unavailable", 'The toolset "c" is disabled.']);
  });

  test("stays ambiguous when one of the toolsets failed to open: a failure does not redirect calls", () => {
    const registry = registryOf({ a: ["get"], b: ["get"] });
    registry.setToolsetState("a", new ToolError("network_error", "no such host"));
    expect(meaning(registry, "get")[0]).toBe("ambiguous");
  });
});

describe("a tool that cannot be called", () => {
  test("F4.6 is unavailable before its toolset is open and after it is closed", () => {
    const registry = registryOf({ s: ["x"] });
    registry.setToolsetState("s", "closed");
    expect(meaning(registry, "s::x")).toEqual(["unavailable", 'The toolset "s" is not open.']);
    expect(registry.names()).toEqual(["s::x"]);
    registry.setToolsetState("s", "open");
    expect(meaning(registry, "s::x")).toEqual(["s::x"]);
  });

  test("F4.10 is unavailable with the reason its toolset failed to open, and is not listed", () => {
    const registry = registryOf({ s: ["x"], t: ["y"] });
    registry.setToolsetState("s", new ToolError("network_error", "no such host", { hint: "Check the address." }));
    expect(meaning(registry, "x")).toEqual(["unavailable", 'The toolset "s" could not be opened: no such host', "Check the address."]);
    expect([registry.names(), registry.search({ text: "does" }).map((found) => found.tool.name), registry.size]).toEqual([
      ["t::y"],
      ["y"],
      2,
    ]);
  });

  test("F4.8 in a disabled toolset is unlisted and unavailable until the toolset is enabled again", () => {
    const registry = registryOf({ s: ["x"], t: ["y"] });
    registry.setEnabled("s", false);
    expect([registry.names(), registry.search({}).length, registry.search({ text: "does" }).length, registry.has("s::x")]).toEqual([
      ["t::y"],
      1,
      1,
      true,
    ]);
    expect(meaning(registry, "s::x")).toEqual(["unavailable", 'The toolset "s" is disabled.']);
    registry.setEnabled("s", true);
    expect([registry.names(), meaning(registry, "s::x")]).toEqual([["s::x", "t::y"], ["s::x"]]);
  });

  test("F4.8 is unlisted alone when it alone is disabled, also by enabled: false in its definition", () => {
    const registry = new Registry();
    registry.addToolset({ name: "s" }, [tool("x"), tool("y", { enabled: false })]);
    expect(registry.names()).toEqual(["s::x"]);
    expect(meaning(registry, "y")).toEqual(["unavailable", 'The tool "s::y" is disabled.']);
    registry.setEnabled("s::y", true);
    registry.setEnabled("x", false);
    expect([registry.names(), meaning(registry, "s::x")]).toEqual([["s::y"], ["unavailable", 'The tool "s::x" is disabled.']]);
  });

  test("is left out when the overloads of a name are resolved", () => {
    const registry = new Registry({ overloads: true });
    registry.register(tool("x", { enabled: false }));
    const second = registry.register(tool("x", { inputSchema: true }));
    expect(registry.resolve("x")).toEqual([second]);
    expect(registry.overloads("x")).toHaveLength(2);
  });

  test("is set by setEnabled, which prefers a toolset to a tool of the same name and throws for an unknown name", () => {
    const registry = registryOf({ mail: ["send"], default: ["mail"] });
    registry.setEnabled("mail", false);
    expect(registry.names()).toEqual(["default::mail"]);
    expect(() => registry.setEnabled("mial", true)).toThrow('No tool "mial". Did you mean "mail"?');
  });
});

describe("A24 a name that looks like another", () => {
  const cases: readonly (readonly [what: string, first: string, second: string, spelt: string])[] = [
    ["a Cyrillic letter", "get_user", "g\u0435t_user", "g\\u{435}t_user"],
    ["the ASCII twin of an earlier name", "g\u0435t_user", "get_user", "get_user"],
    ["a zero-width joiner", "get_user", "get\u200d_user", "get\\u{200d}_user"],
    ["letters from the tag block", "get_user", "get_user\u{e0061}", "get_user\\u{e0061}"],
    ["composed and decomposed accents", "caf\u00e9", "cafe\u0301", "cafe\\u{301}"],
    ["full-width letters", "get", "\uff47et", "\\u{ff47}et"],
    ["two foreign scripts", "\u0441\u043ede", "c\u03bfde", "c\\u{3bf}de"],
  ];
  test.each(cases)("is registered with a warning: %s", (_, first, second, spelt) => {
    const warnings: string[] = [];
    const registry = registryOf({ a: [first] }, warnings);
    expect(warnings).toEqual([]);
    registry.register(tool(second), "b");
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`"b::${spelt}" looks like`);
    expect([meaning(registry, first), meaning(registry, second)]).toEqual([[`a::${first}`], [`b::${second}`]]);
  });

  test("is rejected at 300 characters, and left out when an engine lists it", () => {
    const warnings: string[] = [];
    const registry = registryOf({ a: [] }, warnings);
    expect(() => registry.register(tool("x".repeat(300)))).toThrow("300 characters");
    expect([registry.addTools("a", [tool("x".repeat(300))]), warnings.length]).toEqual([0, 1]);
  });

  test("is logged for toolsets too, and for invisible characters without a similar name", () => {
    const warnings: string[] = [];
    registryOf({ mail: [], "m\u0430il": [], x: ["se\u200bnd"] }, warnings);
    expect(warnings).toEqual([
      'The toolset name "m\\u{430}il" looks like "mail", which is another name.',
      'The tool name "x::se\\u{200b}nd" has invisible characters.',
    ]);
  });

  test("is not reported for the same name twice, other scripts, accents, or a name that was removed", () => {
    const warnings: string[] = [];
    const registry = registryOf({ a: ["g\u0435t", "получить", "résumé", "天気"], b: ["g\u0435t", "resume", "получить"] }, warnings);
    registry.removeToolset("a");
    registry.removeToolset("b");
    registry.register(tool("get"));
    expect(warnings).toEqual([]);
  });
});
