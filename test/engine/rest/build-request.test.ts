import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { buildRequest } from "../../../src/engine/rest/build-request.ts";
import type { HttpParameter } from "../../../src/engine/rest/http-operation.ts";
import { operation, parameter, sent } from "./operations.ts";
import { recordingServer } from "./recording-server.ts";

type Style = HttpParameter["style"];
type Row = readonly [style: Style, explode: boolean, value: JsonValue, wire: string];

const LIST = ["blue", "black", "brown"];
const TABLE = { R: 100, G: 200, B: 150 };

describe("F0.20 F0.49 a path parameter is serialized in its style", () => {
  const rows: readonly Row[] = [
    ["simple", false, "blue", "/a/blue/z"],
    ["simple", false, LIST, "/a/blue,black,brown/z"],
    ["simple", false, TABLE, "/a/R,100,G,200,B,150/z"],
    ["simple", true, LIST, "/a/blue,black,brown/z"],
    ["simple", true, TABLE, "/a/R=100,G=200,B=150/z"],
    ["simple", false, 7, "/a/7/z"],
    ["simple", false, true, "/a/true/z"],
    ["simple", false, -0.5, "/a/-0.5/z"],
    ["simple", false, "æ ø/å", "/a/%C3%A6%20%C3%B8%2F%C3%A5/z"],
    ["simple", false, ["a,b", "c"], "/a/a%2Cb,c/z"],
    ["label", false, "blue", "/a/.blue/z"],
    ["label", false, LIST, "/a/.blue,black,brown/z"],
    ["label", true, LIST, "/a/.blue.black.brown/z"],
    ["label", false, TABLE, "/a/.R,100,G,200,B,150/z"],
    ["label", true, TABLE, "/a/.R=100.G=200.B=150/z"],
    ["matrix", false, "blue", "/a/;color=blue/z"],
    ["matrix", false, LIST, "/a/;color=blue,black,brown/z"],
    ["matrix", true, LIST, "/a/;color=blue;color=black;color=brown/z"],
    ["matrix", false, TABLE, "/a/;color=R,100,G,200,B,150/z"],
    ["matrix", true, TABLE, "/a/;R=100;G=200;B=150/z"],
  ];
  test.each(rows)("%s explode=%s %j → %s", async (style, explode, value, wire) => {
    const server = await recordingServer();
    const sending = operation({ path: "/a/{color}/z", parameters: [parameter({ in: "path", style, explode })] });
    expect((await sent(server, { operation: sending, input: { color: value } })).url).toBe(wire);
  });
});

describe("F0.20 F0.49 a query parameter is serialized in its style", () => {
  const rows: readonly Row[] = [
    ["form", true, "blue", "/items?color=blue"],
    ["form", true, "", "/items?color="],
    ["form", true, null, "/items"],
    ["form", true, [], "/items"],
    ["form", true, {}, "/items"],
    ["form", true, [null, "a"], "/items?color=a"],
    ["form", true, false, "/items?color=false"],
    ["form", true, 0, "/items?color=0"],
    ["form", true, LIST, "/items?color=blue&color=black&color=brown"],
    ["form", false, LIST, "/items?color=blue,black,brown"],
    ["form", true, TABLE, "/items?R=100&G=200&B=150"],
    ["form", false, TABLE, "/items?color=R,100,G,200,B,150"],
    ["form", true, "a&b=c #?/+é", "/items?color=a%26b%3Dc%20%23%3F%2F%2B%C3%A9"],
    ["form", false, ["a,b", "c&d"], "/items?color=a%2Cb,c%26d"],
    ["form", true, [{ x: 1 }], "/items?color=%7B%22x%22%3A1%7D"],
    ["spaceDelimited", false, LIST, "/items?color=blue%20black%20brown"],
    ["spaceDelimited", true, LIST, "/items?color=blue&color=black&color=brown"],
    ["spaceDelimited", false, TABLE, "/items?color=R%20100%20G%20200%20B%20150"],
    ["pipeDelimited", false, LIST, "/items?color=blue%7Cblack%7Cbrown"],
    ["pipeDelimited", true, LIST, "/items?color=blue&color=black&color=brown"],
    ["tabDelimited", false, LIST, "/items?color=blue%09black%09brown"],
    ["deepObject", true, TABLE, "/items?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
    ["deepObject", true, { a: { b: { c: 1 } } }, "/items?color%5Ba%5D%5Bb%5D%5Bc%5D=1"],
    ["deepObject", true, { a: ["x", "y"] }, "/items?color%5Ba%5D%5B%5D=x&color%5Ba%5D%5B%5D=y"],
    ["deepObject", true, { a: [{ b: 1 }, { b: 2 }] }, "/items?color%5Ba%5D%5B0%5D%5Bb%5D=1&color%5Ba%5D%5B1%5D%5Bb%5D=2"],
    ["deepObject", true, { a: null, b: [], c: {} }, "/items"],
    ["deepObject", true, ["x"], "/items?color%5B%5D=x"],
    ["deepObject", true, "blue", "/items?color=blue"],
  ];
  test.each(rows)("%s explode=%s %j → %s", async (style, explode, value, wire) => {
    const server = await recordingServer();
    const sending = operation({ parameters: [parameter({ in: "query", style, explode })] });
    expect((await sent(server, { operation: sending, input: { color: value } })).url).toBe(wire);
  });

  test("allowReserved keeps reserved characters and percent escapes, but encodes those that would end the value", async () => {
    const server = await recordingServer();
    const sending = operation({ parameters: [parameter({ in: "query", allowReserved: true })] });
    const { url } = await sent(server, { operation: sending, input: { color: "a/b?c=d:e@f&g#h i+j[k]%41%zz" } });
    expect(url).toBe("/items?color=a/b?c=d:e@f%26g%23h%20i%2Bj%5Bk%5D%41%25zz");
  });

  test("a content parameter is serialized in its media type", async () => {
    const server = await recordingServer();
    const json = parameter({ in: "query", mediaType: "application/json" });
    const text = parameter({ in: "query", mediaType: "text/plain", name: "note", key: "note" });
    const { url } = await sent(server, { operation: operation({ parameters: [json, text] }), input: { color: ["a", 1], note: "x y" } });
    expect(url).toBe("/items?color=%5B%22a%22%2C1%5D&note=x%20y");
  });

  test("a list of 200,000 values is sent whole, in the query and in cookies", () => {
    const values = Array.from({ length: 200_000 }, (_, at) => at);
    for (const place of ["query", "cookie"] as const) {
      const sending = operation({ parameters: [parameter({ in: place, style: "form", explode: true })] });
      const { url, cookies } = buildRequest(sending, { color: values }, "http://localhost");
      expect(place === "query" ? url.href.split("&").length : cookies.length).toBe(200_000);
    }
    const { url } = buildRequest(operation(), { undeclared: values }, "http://localhost");
    expect(url.href.split("&").length).toBe(200_000);
  });

  test("F0.49 properties that the document does not name go to the query, after declared ones and those of the path", async () => {
    const server = await recordingServer();
    const sending = operation({
      path: "/{id}?fixed=1#part",
      parameters: [parameter({ in: "query" }), parameter({ in: "path", name: "id", key: "id" })],
    });
    const { url } = await sent(server, { operation: sending, input: { extra: [1, 2], color: "red", id: "x", __proto__x: "y" } });
    expect(url).toBe("/x?fixed=1&color=red&extra=1&extra=2&__proto__x=y");
  });
});

describe("F0.20 headers and cookies are sent", () => {
  const rows: readonly (readonly [explode: boolean, value: JsonValue, header: string, cookie: string])[] = [
    [false, "blue", "blue", "color=blue"],
    [false, LIST, "blue,black,brown", "color=blue,black,brown"],
    [true, LIST, "blue,black,brown", "color=blue; color=black; color=brown"],
    [false, TABLE, "R,100,G,200,B,150", "color=R,100,G,200,B,150"],
    [true, TABLE, "R=100,G=200,B=150", "R=100; G=200; B=150"],
    [false, "a; b=c", "a; b=c", "color=a%3B%20b%3Dc"],
  ];
  test.each(rows)("explode=%s %j", async (explode, value, header, cookie) => {
    const server = await recordingServer();
    const sending = operation({
      parameters: [parameter({ in: "header", name: "X-Color", explode }), parameter({ in: "cookie", key: "cookie", explode })],
    });
    const { headers } = await sent(server, { operation: sending, input: { color: value, cookie: value } });
    expect({ header: headers["x-color"], cookie: headers.cookie }).toEqual({ header, cookie });
  });

  test("a model cannot set connection headers, even if the document declares them as parameters", async () => {
    const server = await recordingServer();
    const names = ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Cookie", "Proxy-Authorization", "X-Real"];
    const sending = operation({ parameters: names.map((name) => parameter({ in: "header", name, key: name })) });
    const { headers } = await sent(server, { operation: sending, input: Object.fromEntries(names.map((name) => [name, "evil"])) });
    expect(Object.entries(headers).filter(([, value]) => value === "evil")).toEqual([["x-real", "evil"]]);
  });

  test("Accept lists the document's media types, and any other with a low priority", async () => {
    const server = await recordingServer();
    const { headers } = await sent(server, {
      operation: operation({ accepts: ["application/vnd.api+json", "text/csv", "bad\r\nX: 1", "nonsense"] }),
      input: {},
    });
    expect(headers.accept).toBe("application/vnd.api+json, text/csv, */*;q=0.1");
  });
});

describe("F01 a path value stays within its segment", () => {
  const path = operation({ path: "/v1/users/{id}/posts", parameters: [parameter({ in: "path", name: "id", key: "id" })] });
  const kept: readonly (readonly [value: string, wire: string])[] = [
    ["../../../admin/delete-all?", "/v1/users/..%2F..%2F..%2Fadmin%2Fdelete-all%3F/posts"],
    ["a/b", "/v1/users/a%2Fb/posts"],
    ["%2e%2e", "/v1/users/%252e%252e/posts"],
    ["%2E.", "/v1/users/%252E./posts"],
    ["..%2f", "/v1/users/..%252f/posts"],
    ["?x=1", "/v1/users/%3Fx%3D1/posts"],
    ["#", "/v1/users/%23/posts"],
    [";", "/v1/users/%3B/posts"],
    ["\\..\\x", "/v1/users/%5C..%5Cx/posts"],
    ["a\r\nb", "/v1/users/a%0D%0Ab/posts"],
    ["//evil.example", "/v1/users/%2F%2Fevil.example/posts"],
    ["...", "/v1/users/.../posts"],
    ["(it's)!*", "/v1/users/%28it%27s%29%21%2A/posts"],
  ];
  test.each(kept)("%j is sent as %s", async (value, wire) => {
    const server = await recordingServer();
    expect((await sent(server, { operation: path, input: { id: value } })).url).toBe(wire);
  });

  test.each([{ id: "." }, { id: ".." }, { id: "" }, { id: null }, { id: [] }, { id: {} }, { id: [".."] }, {}, { id: "\uD800" }])(
    "%j is rejected before anything is sent",
    (input: JsonObject) => {
      expect(refusal(() => buildRequest(path, input, "http://127.0.0.1:1"))).toEqual({ code: "invalid_input", outcome: "not_started" });
    },
  );

  test("any string is encoded as one segment that decodes to it, and round-trips in the query", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((value) => value !== "." && value !== "..");
    fc.assert(
      fc.property(text, text, (id, q) => {
        const { url } = buildRequest(
          { ...path, parameters: [...path.parameters, parameter({ in: "query", key: "q", name: "q" })] },
          { id, q },
          "https://api.example/base",
        );
        const segments = url.pathname.split("/").map(decodeURIComponent);
        expect([url.origin, segments, [...url.searchParams], url.hash]).toEqual([
          "https://api.example",
          ["", "base", "v1", "users", id, "posts"],
          [["q", q]],
          "",
        ]);
      }),
    );
  });

  test("a label style or a placeholder beside other text cannot form a dot segment", () => {
    const label = operation({ path: "/{id}", parameters: [parameter({ in: "path", name: "id", key: "id", style: "label" })] });
    const beside = operation({ path: "/a/.{id}/b" });
    expect([
      refusal(() => buildRequest(label, { id: "." }, "http://h")),
      refusal(() => buildRequest(beside, { id: "." }, "http://h")),
    ]).toEqual([
      { code: "invalid_input", outcome: "not_started" },
      { code: "invalid_input", outcome: "not_started" },
    ]);
    expect(buildRequest(operation({ path: "/a/{id}.json" }), { id: "x/../y" }, "http://h").url.href).toBe("http://h/a/x%2F..%2Fy.json");
  });

  test("F10 the path of a document cannot lead to another server", () => {
    const hrefs = ["//evil.example/x", "@evil.example/x", "x", ":1/x", "https://evil.example/x", "/\\evil.example/x"].map(
      (path) => buildRequest(operation({ path }), {}, "https://api.example/v1").url.href,
    );
    expect(hrefs).toEqual([
      "https://api.example/v1//evil.example/x",
      "https://api.example/v1/@evil.example/x",
      "https://api.example/v1/x",
      "https://api.example/v1/:1/x",
      "https://api.example/v1/https://evil.example/x",
      "https://api.example/v1//evil.example/x",
    ]);
    for (const path of ["/../x", "/%2e%2e/x", "/a/..", "/a/./b"]) {
      expect(refusal(() => buildRequest(operation({ path }), {}, "https://api.example/v1"))).toEqual({
        code: "invalid_input",
        outcome: "not_started",
      });
    }
  });

  test("{+name} accepts paths with slashes, as the document declares, but none that leave the template", async () => {
    const server = await recordingServer();
    const reserved = operation({ path: "/v1/{+name}:run", parameters: [parameter({ in: "path", name: "name", key: "name" })] });
    expect((await sent(server, { operation: reserved, input: { name: "projects/a b/x?" } })).url).toBe("/v1/projects/a%20b/x%3F:run");
    for (const name of ["a/../b", "/a", "a//b", "a/.", ""]) {
      expect(refusal(() => buildRequest(reserved, { name }, server.url))).toEqual({ code: "invalid_input", outcome: "not_started" });
    }
  });
});

describe("F06 a header value stays within its header", () => {
  const header = operation({ parameters: [parameter({ in: "header", name: "X-Note", key: "note" })] });
  const values: readonly JsonValue[] = [
    "a\r\nX-Admin: 1",
    "a\nb",
    "a\0b",
    "é",
    "a\u2028b",
    "x".repeat(1_000_000),
    ["a", "b\r\n"],
    { k: "v\n" },
  ];
  test.each(values.map((value) => ({ shown: JSON.stringify(value).slice(0, 30), value })))(
    "$shown is rejected before anything is sent",
    ({ value }) => {
      expect(refusal(() => buildRequest(header, { note: value }, "http://h"))).toEqual({ code: "invalid_input", outcome: "not_started" });
    },
  );

  test("a media type of the document cannot inject headers", () => {
    const body = { required: true, mediaType: "application/json; a=\r\nX-Admin: 1", mediaTypes: [], fields: { key: "body" } };
    expect(refusal(() => buildRequest(operation({ method: "POST", body }), { body: 1 }, "http://h"))).toEqual({
      code: "invalid_input",
      outcome: "not_started",
    });
  });
});

function refusal(act: () => unknown): unknown {
  try {
    return act();
  } catch (error: unknown) {
    if (!(error instanceof ToolError)) throw error;
    return { code: error.code, outcome: error.outcome };
  }
}
