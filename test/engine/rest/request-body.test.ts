import { describe, expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import type { BodyEncoding, HttpBody } from "../../../src/engine/rest/http-operation.ts";
import { requestBody } from "../../../src/engine/rest/request-body.ts";
import { operation, sent } from "./operations.ts";
import { type ReceivedRequest, recordingServer } from "./recording-server.ts";

/** A body whose fields are beside the parameters, each under its own name. */
function fieldsBody(mediaType: string, names: readonly string[], encoding?: Readonly<Record<string, BodyEncoding>>): HttpBody {
  const fields = names.map((name) => ({ name, key: name, required: false }));
  return { required: false, mediaType, mediaTypes: [mediaType], fields, ...(encoding === undefined ? {} : { encoding }) };
}

function wholeBody(mediaType: string, required = true): HttpBody {
  return { required, mediaType, mediaTypes: [mediaType], fields: { key: "body" } };
}

async function posted(body: HttpBody, input: JsonObject): Promise<ReceivedRequest> {
  return sent(await recordingServer(), { operation: operation({ method: "POST", body }), input });
}

/** What came, read by Node's own parser. */
async function parts({ bytes, headers }: ReceivedRequest): Promise<readonly unknown[]> {
  const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": headers["content-type"] ?? "" } }).formData();
  const entries = [...form].map(async ([name, value]) =>
    typeof value === "string" ? [name, value] : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString("latin1")],
  );
  return Promise.all(entries);
}

describe("F0.20 JSON bodies", () => {
  test("fields are sent under their wire names rather than their input keys, and only if they are given", async () => {
    const fields = [
      { name: "id", key: "body_id", required: true },
      { name: "__proto__", key: "proto", required: false },
      { name: "not", key: "given", required: false },
    ];
    const { body, headers } = await posted({ ...wholeBody("application/json"), fields }, { body_id: 1, proto: { a: 1 } });
    expect({ body, type: headers["content-type"], length: headers["content-length"] }).toEqual({
      body: '{"id":1,"__proto__":{"a":1}}',
      type: "application/json",
      length: "28",
    });
  });

  test.each<readonly [JsonValue, string]>([
    [[1, "é"], '[1,"é"]'],
    ["text", '"text"'],
    [null, "null"],
    [0, "0"],
    ["\uD800", '"\\ud800"'],
  ])("a body of %j is sent unchanged", async (value, wire) => {
    expect((await posted(wholeBody("application/vnd.api+json"), { body: value })).body).toBe(wire);
  });

  test("a body without input is omitted unless it is required", async () => {
    const { body, headers } = await posted(fieldsBody("application/json", ["a"]), {});
    expect({ body, type: headers["content-type"], length: headers["content-length"] }).toEqual({ body: "", type: undefined, length: "0" });
    expect((await posted({ ...fieldsBody("application/json", ["a"]), required: true }, {})).body).toBe("{}");
    expect(requestBody(wholeBody("application/json", false), {})).toBeUndefined();
    expect(refusal(() => requestBody(wholeBody("application/json"), {}))).toBe('The body "body" is missing; nothing was sent.');
  });

  test("the media type range */* is sent as JSON", async () => {
    const { body, headers } = await posted(wholeBody("*/*"), { body: { a: 1 } });
    expect([body, headers["content-type"]]).toEqual(['{"a":1}', "application/json"]);
  });
});

describe("F0.20 form bodies", () => {
  const rows: readonly (readonly [encoding: BodyEncoding | undefined, value: JsonValue, wire: string])[] = [
    [undefined, "a b&c=d+é", "f=a+b%26c%3Dd%2B%C3%A9"],
    [undefined, true, "f=true"],
    [undefined, null, ""],
    [undefined, [1, 2], "f=1&f=2"],
    [undefined, { a: 1 }, "f=%7B%22a%22%3A1%7D"],
    [{ contentType: "application/json" }, [1, 2], "f=%5B1%2C2%5D"],
    [{ style: "form", explode: false }, [1, 2], "f=1,2"],
    [{ style: "form", explode: true }, { a: 1, b: 2 }, "a=1&b=2"],
    [{ style: "spaceDelimited", explode: false }, ["x", "y"], "f=x+y"],
    [{ style: "tabDelimited", explode: false }, ["x", "y"], "f=x%09y"],
    [
      { style: "deepObject", explode: true },
      { name: "Jo Do", tags: ["a", "b"] },
      "f%5Bname%5D=Jo+Do&f%5Btags%5D%5B%5D=a&f%5Btags%5D%5B%5D=b",
    ],
    [{ style: "deepObject", explode: true }, [{ price: "p1", quantity: 2 }], "f%5B0%5D%5Bprice%5D=p1&f%5B0%5D%5Bquantity%5D=2"],
    [{ style: "deepObject", explode: true }, ["customer"], "f%5B%5D=customer"],
  ];
  test.each(rows)("%j of %j → %s", async (encoding, value, wire) => {
    const body = fieldsBody("application/x-www-form-urlencoded", ["f"], encoding === undefined ? undefined : { f: encoding });
    const got = await posted(body, { f: value });
    expect([got.body, got.headers["content-type"]]).toEqual([wire, "application/x-www-form-urlencoded"]);
  });

  test("a form given as one object has the fields of that object", async () => {
    expect((await posted(wholeBody("application/x-www-form-urlencoded"), { body: { a: 1, b: "x y" } })).body).toBe("a=1&b=x+y");
    expect(refusal(() => requestBody(wholeBody("application/x-www-form-urlencoded"), { body: "a=1" }))).toBe(
      "A body of application/x-www-form-urlencoded must be an object of its fields; nothing was sent.",
    );
  });
});

describe("F0.20 multipart bodies, as a standard parser reads them", () => {
  test("contain strings, numbers, arrays, objects and binary files", async () => {
    const encoding = { photo: { binary: true, contentType: "image/png, image/jpeg" }, meta: { contentType: "application/json" } };
    const body = fieldsBody("multipart/form-data", ["title", "size", "tags", "where", "meta", "photo", "none"], encoding);
    const input = {
      title: 'a "quoted"\r\n--title é',
      size: 3,
      tags: ["x", "y"],
      where: { lat: 1 },
      meta: [1, 2],
      photo: Buffer.from([0, 255, 13, 10, 45, 45]).toString("base64"),
      none: null,
    };
    const got = await posted(body, input);
    expect(await parts(got)).toEqual([
      ["title", 'a "quoted"\r\n--title é'],
      ["size", "3"],
      ["tags", "x"],
      ["tags", "y"],
      ["where", '{"lat":1}'],
      ["meta", "[1,2]"],
      ["photo", "photo", "image/png", "\0\u00ff\r\n--"],
    ]);
    expect(Number(got.headers["content-length"])).toBe(got.bytes.length);
  });

  test("a file may have a filename and content type or be a data: URI; several files are several parts", async () => {
    const body = fieldsBody("multipart/form-data", ["file", "more"], { file: { binary: true }, more: { binary: true } });
    const got = await posted(body, {
      file: { filename: 'b"ad\r\n.txt', contentType: "text/plain", data: "aGk=" },
      more: ["data:image/gif;base64,R0lG", "aGk", "data:audio/mpeg;name=a%20talk.mp3;base64,aGk="],
    });
    expect(await parts(got)).toEqual([
      ["file", 'b"ad\r\n.txt', "text/plain", "hi"],
      ["more", "more", "image/gif", "GIF"],
      ["more", "more", "application/octet-stream", "hi"],
      ["more", "a talk.mp3", "audio/mpeg", "hi"],
    ]);
  });

  test("a file that is not base64 or has an invalid media type is rejected", () => {
    const body = fieldsBody("multipart/form-data", ["file"], { file: { binary: true } });
    expect([
      refusal(() => requestBody(body, { file: "not base64!" })),
      refusal(() => requestBody(body, { file: 7 })),
      refusal(() => requestBody(body, { file: { data: "aGk=", contentType: "text/plain\r\nX: 1" } })),
    ]).toEqual([
      '"file" is sent as bytes, and it is not base64; nothing was sent.',
      '"file" is sent as bytes, and it is not a string; nothing was sent.',
      '"text/plain\\r\\nX: 1" is not a media type; nothing was sent.',
    ]);
  });

  test("the boundary is deterministic and does not occur in any part", async () => {
    const body = fieldsBody("multipart/form-data", ["a"]);
    const boundary = /boundary=(.*)$/u.exec((await posted(body, { a: "x" })).headers["content-type"] ?? "")?.[1] ?? "";
    expect(boundary).toMatch(/^haft-[0-9a-f]{40}$/u);
    const inner = await posted(body, { a: `--${boundary}--\r\n` });
    expect(await parts(inner)).toEqual([["a", `--${boundary}--\r\n`]]);
  });
});

describe("F0.20 other bodies", () => {
  test("bytes are accepted as base64, base64url or a data: URI", async () => {
    const got = await posted(wholeBody("application/octet-stream"), { body: Buffer.from([251, 255, 0]).toString("base64url") });
    expect([[...got.bytes], got.headers["content-type"]]).toEqual([[251, 255, 0], "application/octet-stream"]);
    const image = await posted(wholeBody("image/*"), { body: "data:image/png;base64,AAE=" });
    expect([[...image.bytes], image.headers["content-type"]]).toEqual([[0, 1], "image/png"]);
  });

  test("a file of a text type is sent as its bytes, in whatever encoding", async () => {
    const got = await posted({ ...wholeBody("text/csv"), binary: true }, { body: Buffer.from([0xe9, 0x3b, 0x0a]).toString("base64") });
    expect([[...got.bytes], got.headers["content-type"]]).toEqual([[0xe9, 0x3b, 0x0a], "text/csv"]);
  });

  test("text and XML are sent as the model wrote them", async () => {
    const xml = await posted(wholeBody("application/xml"), { body: "<a>é</a>" });
    const text = await posted(wholeBody("text/plain; charset=latin1"), { body: "é" });
    expect([xml.body, xml.headers["content-type"], text.body, text.headers["content-type"]]).toEqual([
      "<a>é</a>",
      "application/xml; charset=utf-8",
      "é",
      "text/plain; charset=utf-8",
    ]);
    expect(refusal(() => requestBody(wholeBody("application/xml"), { body: { a: 1 } }))).toBe(
      "A body of application/xml must be given as text; nothing was sent.",
    );
  });
});

function refusal(act: () => unknown): unknown {
  try {
    return act();
  } catch (error: unknown) {
    if (!(error instanceof ToolError) || error.outcome !== "not_started" || error.code !== "invalid_input") throw error;
    return error.message;
  }
}
