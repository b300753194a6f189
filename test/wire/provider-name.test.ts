import { describe, expect, test } from "vitest";
import fc from "fast-check";
import { ProviderNames, providerName, toQualifiedName } from "../../src/wire/provider-name.ts";

describe("provider names of tools", () => {
  test.each([
    ["web::search", "web__search"],
    ["default::search", "search"],
    ["search", "search"],
    ["my-files::read_file", "my-files__read_file"],
    ["a::_b", "a___b"],
  ])("%s is encoded as %s", (name, encoded) => {
    expect(providerName(name)).toBe(encoded);
  });

  test.each([
    ["default::a__b", "what would lead back to a::b"],
    ["a__b::c", "a second pair of underscores"],
    ["x::a::b", "a second separator"],
    ["default::a::b", "a separator in a tool of the default toolset"],
    ["web::höhle", "other characters"],
    ["a_::b", "an underscore before the separator"],
    ["", "nothing"],
    ["9lives::count", "a digit first, which Gemini refuses"],
    ["-a::b", "a dash first"],
    [`web::${"x".repeat(60)}`, "more than 64 characters"],
    ["web::0123456789abcdef", "what looks like the mark itself"],
    ["a\ud800b", "half a surrogate pair"],
  ])("%s is encoded with its hash: %s", (name) => {
    expect(providerName(name)).toMatch(/^(?=[A-Za-z_])[A-Za-z0-9_-]{0,46}__[0-9a-f]{16}$/u);
  });

  test("A02 H06 different names stay different, and every encoded name is valid for all providers", () => {
    const piece = fc.oneof(fc.constantFrom("_", "__", "::", "a", "A", "b-c", "default", "0123456789abcdef"), fc.string({ maxLength: 3 }));
    const name = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 20 }), (names) => {
        const canonical = new Set(names.map((one) => (/^default::(?!.*::)/su.test(one) ? one.slice("default::".length) : one)));
        const encoded = new Set(names.map((name) => providerName(name)));
        expect(encoded.size).toBe(canonical.size);
        expect([...encoded].filter((one) => !/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u.test(one))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["functions.web__search", "web::search"],
    ["web__search<|channel|>commentary", "web::search"],
    [" functions.web__search <|constrain|>json", "web::search"],
    ["web__search\n", "web::search"],
    ["functions.", "functions."],
    ["<|channel|>web__search", "<|channel|>web__search"],
    ["a<|b", "a::b"], // a given name is never changed
  ])("F4.17 the name %j of a call is %j, whatever the server leaves in it", (name, meant) => {
    expect(toQualifiedName(name, new Map([["a<|b", "a::b"]]))).toBe(meant);
  });

  test("the reverse mapping is stored, with each name as it was first given", () => {
    const names = new ProviderNames();
    expect(["web::search", "default::a::b", "search", "default::search"].map((name) => names.encode(name))).toEqual([
      "web__search",
      providerName("default::a::b"),
      "search",
      "search",
    ]);
    expect([...names.decoded]).toEqual([
      ["web__search", "web::search"],
      [providerName("default::a::b"), "default::a::b"],
      ["search", "search"],
    ]);
  });
});
