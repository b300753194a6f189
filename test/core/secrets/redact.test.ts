import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import { addressCredentials, createRedactor, pickCredentials, redactError, redactValue } from "../../../src/core/secrets/redact.ts";
import { inProcessorTime } from "../../processor-time.ts";

const redact = createRedactor({ API_KEY: "s3cret-value", LONGER: "s3cret-value-2", SHORT: "on" });

test("values of variables are replaced by their names, longest first, and short words are kept", () => {
  expect(redact("on s3cret-value-2 and s3cret-value")).toBe("on [LONGER] and [API_KEY]");
});

test("an error is redacted in message, details and hint, loses its cause, and is otherwise unchanged", () => {
  const error = new ToolError("execution_failed", "bad key s3cret-value", {
    details: ["s3cret-value"],
    hint: "not s3cret-value",
    outcome: "failed",
    retryAfterMs: 5,
    cause: new Error("s3cret-value"),
  });
  const redacted = redactError(error, redact);
  expect(redacted.toJSON()).toEqual({ ...error.toJSON(), message: "bad key [API_KEY]", details: ["[API_KEY]"], hint: "not [API_KEY]" });
  expect(redacted.cause).toBeUndefined();
});

test("an error without secrets is returned unchanged", () => {
  const error = new ToolError("timeout", "late", { details: ["a", "b"], hint: "Wait.", operatorHint: "Look.", cause: new Error("why") });
  expect(redactError(error, redact)).toBe(error);
});

test.each([
  ["a beginning in front of a cut", "bad key s3cret-value…", "bad key [LONGER]…"],
  ["a cut within", "s3cret-v… is bad", "[LONGER]… is bad"],
  ["several cuts", "s3cret-va…s3cret-val… and …", "[LONGER]…[LONGER]… and …"],
  ["a beginning of a few characters", "s3cret… and …", "s3cret… and …"],
  ["words in front of a cut", "a long story…", "a long story…"],
  ["a beginning without a cut", "s3cret-val", "s3cret-val"],
  ["a beginning behind a beginning", "s3cret-vs3cret-va… and …", "s3cret-v[LONGER]… and …"],
])("the rest of a truncated value is redacted: %s", (_, text, expected) => {
  expect(createRedactor({ LONGER: "s3cret-value-2" })(text)).toBe(expected);
});

test("rests of a long truncated value are searched in linear time, even in text that consists of ellipses", () => {
  const text = "…".repeat(1_000_000);
  const redact = createRedactor({ PRIVATE_KEY: `-----BEGIN PRIVATE KEY-----${"MIIEvQIBADANBgkqhkiG9w0B".repeat(100)}` });
  inProcessorTime(2_000, () => expect(redact(text) === text).toBe(true));
});

test("a variable name with $& is inserted literally", () => {
  expect(createRedactor({ "X-$&-Token": "s3cret-value" })("s3cret-value")).toBe("[X-$&-Token]");
});

test("a value is also redacted in its JSON spelling, in text that repeats the environment", () => {
  const environment = { PRIVATE_KEY: "-----BEGIN KEY-----\nabc\\def\n", QUOTED: 'a "quoted" word' };
  expect(createRedactor(environment)(JSON.stringify(environment))).toBe('{"PRIVATE_KEY":"[PRIVATE_KEY]","QUOTED":"[QUOTED]"}');
});

test("a value is also redacted as addresses and forms spell it, with digits in either case", () => {
  const value = "p/w+d ~=\u00e9";
  const redact = createRedactor({ KEY: value });
  const form = String(new URLSearchParams({ key: value }));
  const lowerCase = form.replaceAll(/%../gu, (octet) => octet.toLowerCase());
  expect([redact(`/?key=${encodeURIComponent(value)}&x`), redact(form), redact(lowerCase)]).toEqual([
    "/?key=[KEY]&x",
    "key=[KEY]",
    "key=[KEY]",
  ]);
  expect(redact(JSON.stringify(value).replaceAll("/", "\\/"))).toBe('"[KEY]"');
  expect(createRedactor({ KEY: "half of a pair \ud800" })("half of a pair \ud800")).toBe("[KEY]");
});

test("values of six characters are secrets, and shorter ones are words", () => {
  expect(createRedactor({ SIX: "abcdef", FIVE: "vwxyz" })("abcdef vwxyz")).toBe("[SIX] vwxyz");
});

test("a truncated secret is redacted from its eighth character on", () => {
  expect(createRedactor({ NINE: "abcdefghi" })("abcdefgh… abcdefg…")).toBe("[NINE]… abcdefg…");
});

test("a value is redacted in its texts and keys at every depth, and is itself returned when nothing changes", () => {
  const clean = { list: ["a", { b: null }], count: 1 };
  expect(redactValue(clean, redact)).toBe(clean);
  const dirty = { plain: 1, "s3cret-value": ["x", { deep: "s3cret-value" }] };
  expect(redactValue(dirty, redact)).toEqual({ plain: 1, "[API_KEY]": ["x", { deep: "[API_KEY]" }] });
});

test("an answer nested a hundred thousand times is redacted to a depth, not until the stack overflows", () => {
  let list: unknown = "s3cret-value";
  let record: unknown = "s3cret-value";
  for (let depth = 0; depth < 100_000; depth++) [list, record] = [[list], { a: record }];
  expect(redactValue({ list, record }, redact)).toBeTypeOf("object");
});

test("an error is redacted if only one of its parts has a secret, or a cause of its cause", () => {
  const inner = new Error("s3cret-value");
  const parts = [
    { hint: "s3cret-value" },
    { operatorHint: "s3cret-value" },
    { details: ["fine", "s3cret-value"] },
    { details: ["s3cret-value"] },
    { cause: new Error("outer", { cause: inner }) },
    { cause: Object.assign(new TypeError("Invalid URL"), { input: "http://s3cret-value@[" }) },
    { cause: { url: "http://s3cret-value@[" } },
    { cause: "s3cret-value" },
  ];
  for (const part of parts) {
    const redacted = redactError(new ToolError("execution_failed", "bad", part), redact);
    expect(JSON.stringify(redacted)).not.toContain("s3cret");
    expect(redacted.operatorHint ?? "").not.toContain("s3cret");
    expect(redacted.cause).toBeUndefined();
  }
});

test("credentials are picked by name, from eight characters on, unless the name says where they are", () => {
  const picked = pickCredentials({
    API_KEY: "12345678",
    SHORT_KEY: "1234567",
    TOKENIZER: "cl100k-base",
    AUTHOR: "A. N. Other",
    TOKEN_FILE: "/run/token",
    AUTH_URL: "https://user:pw@idp.example/",
    PASSWORD_PATH: "/etc/passwords",
    PWD: "/home/someone",
    OLDPWD: "/home/another",
    HOME: "/home/someone",
  });
  expect(picked).toEqual({ API_KEY: "12345678", AUTH_URL: "https://user:pw@idp.example/" });
});

test.each<readonly [string, Readonly<Record<string, string>>]>([
  ["postgres://ann:hunter2@db/x", { "password of DSN": "hunter2" }],
  ["redis://:hunter2@cache:6379", { "password of DSN": "hunter2" }],
  ["postgres://ann:p%40ss@db/x", { "password of DSN": "p@ss", "password of DSN, encoded": "p%40ss" }],
  ["amqp://a:one@h1,amqp://a:two@h2", { "password of DSN": "one", "password 2 of DSN": "two" }],
  ["https://ghp_0123456789abcdefghij@github.com/x", { "token of DSN": "ghp_0123456789abcdefghij" }],
  ["https://example.com/?sort=name&access_token=abc#top", { "credential access_token of DSN": "abc" }],
  ["https://blob.example/x?sp=r&sig=abc%2Fd%3D", { "credential sig of DSN": "abc/d=", "credential sig of DSN, encoded": "abc%2Fd%3D" }],
  ["Server=db;Database=x;User Id=ann;Password=hunter2;", { "credential Password of DSN": "hunter2" }],
  ["AccountName=x;AccountKey=abc==;EndpointSuffix=core.example", { "credential AccountKey of DSN": "abc==" }],
  ["host=db user=ann password=hunter2 sslkey=/etc/key.pem", { "credential password of DSN": "hunter2" }],
  ["mongodb://db/x?authSource=customers&authMechanism=PLAIN", {}],
  ["https://example.com:8080/ann@home", {}],
  ["ann@example.com", {}],
  ["postgres://ann@db/x", {}],
  ["postgres://postgres:postgres@localhost/x", {}],
  ["https://example.com/?design=blue&sort_key=name", {}],
  ["a password", {}],
])("the credentials in %j are found, and nothing else", (text, expected) => {
  expect(addressCredentials("DSN", text)).toEqual(expected);
});

test("a long text is searched in linear time", () => {
  const parts = ["://a:", "://", "a=", ";a", "https://a", "?", "%"];
  inProcessorTime(2_000, () => {
    for (const part of parts) addressCredentials("DSN", `${part.repeat(200_000)}@=`);
  });
});
