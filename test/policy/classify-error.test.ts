import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { ToolError, type ErrorInfo } from "../../src/core/error.ts";
import { classifyError } from "../../src/policy/attempts/classify-error.ts";
import { collectUnhandledRejections } from "../unhandled-rejections.ts";

/** What the policy acts on. */
function verdict(thrown: unknown): Pick<ErrorInfo, "code" | "retryable" | "outcome" | "retryAfterMs"> {
  const { code, retryable, outcome, retryAfterMs } = classifyError(thrown).toJSON();
  return { code, retryable, outcome, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

function withFields(message: string, fields: object): Error {
  return Object.assign(new Error(message), fields);
}

describe("B04 an unusual thrown value becomes one error with a code and a short message:", () => {
  const cyclic: { cause?: unknown } = new Error("round");
  cyclic.cause = cyclic;
  const hostile = new Proxy(new ToolError("timeout", "x"), {
    get() {
      throw new Error("trap");
    },
  });
  const closed = new Proxy(
    {},
    {
      getPrototypeOf() {
        throw new Error("trap");
      },
      has() {
        throw new Error("trap");
      },
      getOwnPropertyDescriptor() {
        throw new Error("trap");
      },
    },
  );
  test.each<[string, unknown, string]>([
    ["null", null, "threw null"],
    ["undefined", undefined, "threw undefined"],
    ["a string", "s", "s"],
    ["a number", 5, "threw 5"],
    ["a symbol", Symbol("s"), "threw Symbol(s)"],
    ["a bigint", 5n, "threw 5"],
    [
      "a message that throws",
      {
        get message() {
          throw new Error("gotcha");
        },
      },
      "threw a value that cannot be read",
    ],
    [
      "a cause, code, status and name that throw",
      {
        message: "m",
        get name() {
          throw new Error("gotcha");
        },
        get code() {
          throw new Error("gotcha");
        },
        get status() {
          throw new Error("gotcha");
        },
        get cause() {
          throw new Error("gotcha");
        },
      },
      "m",
    ],
    ["a cyclic cause", cyclic, "round"],
    ["a ToolError behind a trap", hostile, "threw a value that cannot be read"],
    ["a proxy with traps", closed, "threw an object without a message"],
    ["a ToolError without fields", Object.create(ToolError.prototype), "threw an Error"],
    ["a function", () => 1, "threw an object without a message"],
  ])("%s", (_, thrown, message) => {
    const error = classifyError(thrown);
    expect(error).toBeInstanceOf(ToolError);
    expect({ code: error.code, retryable: error.retryable }).toEqual({ code: "execution_failed", retryable: false });
    expect(error.message.startsWith(message)).toBe(true);
  });

  test("a message of 10 MB, cut to 4,096 characters", () => {
    const error = classifyError(new Error(`${"x".repeat(10_000_000)} timeout`));
    expect({ length: error.message.length, code: error.code }).toEqual({ length: 4_096, code: "execution_failed" });
  });

  test("a promise that rejects, without an unhandled rejection", async () => {
    const unhandled = collectUnhandledRejections();
    const error = classifyError(Promise.reject(new Error("inner")));
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect({ code: error.code, unhandled }).toEqual({ code: "execution_failed", unhandled: [] });
  });
});

test("a ToolError is returned unchanged: the thrower decides", () => {
  const error = new ToolError("execution_failed", "connection timeout", { retryable: false, outcome: "failed" });
  expect(classifyError(error)).toBe(error);
});

test("the thrown value is set as the cause", () => {
  const thrown = new Error("bad value");
  expect(classifyError(thrown).cause).toBe(thrown);
});

describe("F4.24 abort and timeout errors are recognized by name:", () => {
  test.each<[string, unknown, string]>([
    ["AbortSignal.abort()", AbortSignal.abort().reason, "execution_failed"],
    ["a DOMException", new DOMException("late", "TimeoutError"), "timeout"],
    ["Node's abort code", withFields("The operation was aborted", { code: "ABORT_ERR" }), "execution_failed"],
    ["a wrapped timeout", new Error("outer", { cause: new DOMException("late", "TimeoutError") }), "timeout"],
  ])("%s", (_, thrown, code) => {
    expect(classifyError(thrown).code).toBe(code);
  });
});

describe("F4.24 B07 a system error is a network_error with outcome unknown:", () => {
  test.each<[object]>([
    [{ code: "ECONNREFUSED" }],
    [{ code: "ENOTFOUND", syscall: "getaddrinfo" }],
    [{ code: "EAI_AGAIN" }],
    [{ code: "UND_ERR_CONNECT_TIMEOUT" }],
    [{ code: "ETIMEDOUT", syscall: "connect" }],
    [{ code: "ECONNRESET" }],
    [{ code: "EPIPE" }],
    [{ code: "UND_ERR_SOCKET" }],
    [{ code: "UND_ERR_BODY_TIMEOUT" }],
  ])("%j", (fields) => {
    expect(verdict(withFields("it broke", fields))).toEqual({ code: "network_error", retryable: true, outcome: "unknown" });
  });

  test("except a code that is only inherited or means something else", () => {
    class Odd extends Error {
      get code(): string {
        return "ECONNREFUSED";
      }
    }
    expect(verdict(new Odd("bad value")).code).toBe("execution_failed");
    expect(verdict(withFields("no such file", { code: "ENOENT" })).code).toBe("execution_failed");
  });

  test("a failed fetch is classified by its cause, and its message includes the cause's", () => {
    const cause = withFields("connect ECONNREFUSED 127.0.0.1:1", { code: "ECONNREFUSED" });
    const error = classifyError(new TypeError("fetch failed", { cause }));
    expect(error.toJSON()).toEqual({
      code: "network_error",
      message: "fetch failed: connect ECONNREFUSED 127.0.0.1:1",
      retryable: true,
      outcome: "unknown",
    });
  });

  test("a failed fetch whose cause says nothing about a retry has the cause's message", () => {
    const error = classifyError(
      new TypeError("fetch failed", { cause: withFields("certificate has expired", { code: "CERT_HAS_EXPIRED" }) }),
    );
    expect({ code: error.code, message: error.message, retryable: error.retryable }).toEqual({
      code: "execution_failed",
      message: "fetch failed: certificate has expired",
      retryable: false,
    });
    expect(classifyError(new TypeError("fetch failed")).message).toBe("fetch failed");
    expect(classifyError(new TypeError("not a fetch", { cause: new Error("inner") })).message).toBe("not a fetch");
  });

  test("several errors without a message of their own are reported by their messages, or names", () => {
    const errors = [new Error("a is down"), new AggregateError([new Error("inner")]), new Error("")];
    expect(classifyError(new AggregateError(errors)).message).toBe("a is down; threw an AggregateError; threw an Error");
    const cycle = new AggregateError([]);
    cycle.errors = [cycle, cycle];
    expect(classifyError(cycle).message).toBe("threw an AggregateError; threw an AggregateError");
    expect(classifyError(new AggregateError([])).message).toBe("threw an AggregateError");
    expect(classifyError(new AggregateError(Array.from({ length: 50 }, () => new Error("x".repeat(1_000))))).message.length).toBe(4_096);
  });

  test("several addresses that all refuse, without a message of their own, are reported by their code", () => {
    const error = classifyError(Object.assign(new AggregateError([], ""), { code: "ECONNREFUSED" }));
    expect(error.message).toBe("ECONNREFUSED");
  });

  test("a real socket to a port without a listener", async () => {
    const thrown = await new Promise<unknown>((resolve) => connect({ host: "127.0.0.1", port: 1 }).once("error", resolve));
    expect(verdict(thrown)).toEqual({ code: "network_error", retryable: true, outcome: "unknown" });
  });
});

describe("B08 an HTTP error is classified by its status:", () => {
  test.each<[object, object]>([
    [{ status: 429 }, { code: "rate_limited", retryable: true, outcome: "unknown" }],
    [{ statusCode: 503 }, { code: "network_error", retryable: true, outcome: "unknown" }],
    [{ response: { status: 504 } }, { code: "timeout", retryable: true, outcome: "unknown" }],
    [{ status: 404 }, { code: "execution_failed", retryable: false, outcome: "unknown" }],
    [{ status: 500 }, { code: "network_error", retryable: true, outcome: "unknown" }],
    [{ status: 200 }, { code: "network_error", retryable: true, outcome: "unknown" }],
    [{ status: "429" }, { code: "network_error", retryable: true, outcome: "unknown" }],
  ])("%j", (fields, expected) => {
    expect(verdict(withFields("no connection", fields))).toEqual(expected);
  });

  test.each<[object, number | undefined]>([
    [{ headers: new Headers({ "Retry-After": "7" }) }, 7_000],
    [{ headers: { "retry-after": "1.5" } }, 1_500],
    [{ headers: { "Retry-After": 3 } }, 3_000],
    [{ headers: { "retry-after-ms": "250", "retry-after": "9" } }, 250],
    [{ response: { headers: new Headers({ "retry-after": "2" }) } }, 2_000],
    [{ headers: { "retry-after": "Wed, 07 Jan 2026 10:00:30 GMT", date: "Wed, 07 Jan 2026 10:00:00 GMT" } }, 30_000],
    [{ headers: { "retry-after": "Wed, 07 Jan 2026 10:00:30 GMT" } }, undefined],
    [{ headers: { "retry-after": "soon" } }, undefined],
    [{ headers: { "retry-after": "-5" } }, undefined],
    [{ headers: { "retry-after": "9".repeat(1_000_000) } }, undefined],
    [
      {
        headers: {
          get() {
            throw new Error("gotcha");
          },
        },
      },
      undefined,
    ],
    [{ headers: "retry-after: 5" }, undefined],
  ])("429 with %j", (fields, retryAfterMs) => {
    expect(classifyError(withFields("slow down", { status: 429, ...fields })).retryAfterMs).toBe(retryAfterMs);
  });
});

describe("F3.13 a plain exception is classified by words in its message:", () => {
  test.each([
    ["Read TIMEOUT on socket", "timeout"],
    ["Connection lost", "network_error"],
    ["network down", "network_error"],
    ["a temporary problem", "execution_failed"],
    ["Rate limit exceeded", "rate_limited"],
    ["please try again", "execution_failed"],
  ])("%s", (message, code) => {
    const expected = { code, retryable: true, outcome: "unknown" };
    expect(verdict(new Error(message))).toEqual(expected);
    expect(verdict(message)).toEqual(expected);
  });

  test("bad value is not retryable", () => {
    expect(verdict(new Error("bad value"))).toEqual({ code: "execution_failed", retryable: false, outcome: "unknown" });
  });

  test("a TypeError of the handler is not retryable although its message has such a word", () => {
    const thrown = new TypeError("Cannot read properties of undefined (reading 'connection')");
    expect(verdict(thrown)).toEqual({ code: "execution_failed", retryable: false, outcome: "unknown" });
  });
});

describe("F4.24 a handler that is denied access ends with permission_denied", () => {
  test.each([
    ["a file that may not be read", Object.assign(new Error("EACCES: permission denied, open '/etc/shadow'"), { code: "EACCES" })],
    ["an operation that is not permitted", Object.assign(new Error("EPERM: operation not permitted"), { code: "EPERM" })],
    ["Node's permission model", Object.assign(new Error("Access to this API has been restricted"), { code: "ERR_ACCESS_DENIED" })],
    ["HTTP 401", Object.assign(new Error("Unauthorized"), { status: 401 })],
    ["HTTP 403 of a response", Object.assign(new Error("Request failed"), { response: { status: 403 } })],
    ["a cause", new Error("could not save", { cause: Object.assign(new Error("denied"), { code: "EACCES" }) })],
  ])("%s", (_, thrown) => {
    const { code, retryable, outcome } = classifyError(thrown);
    expect({ code, retryable, outcome }).toEqual({ code: "permission_denied", retryable: false, outcome: "unknown" });
  });
});
