/** What a failure says of how far its request came. */
import { expect, test } from "vitest";
import { failedToConnect } from "../../src/net/connect-failure.ts";

const failure = (fields: object): Error => Object.assign(new Error("failed"), fields);

test.each([
  [{ code: "ECONNREFUSED", syscall: "connect" }, true],
  [{ code: "EHOSTUNREACH", syscall: "connect" }, true],
  [{ code: "ENOTFOUND", syscall: "getaddrinfo" }, true],
  [{ code: "ECONNREFUSED" }, true], // of several addresses
  [{ code: "ERR_ACCESS_DENIED", syscall: "connect" }, true], // node --permission
  [{ code: "ERR_ACCESS_DENIED", syscall: "getaddrinfo" }, true],
  [{ code: "EHOSTUNREACH", syscall: "read" }, false],
  [{ code: "ENETUNREACH", syscall: "write" }, false],
  [{ code: "ECONNRESET", syscall: "read" }, false],
  [{ code: "UND_ERR_SOCKET" }, false],
])("the failure %j means that the request was never sent: %j", (fields, never) => {
  expect(failedToConnect(failure(fields))).toBe(never);
});

test("a value that is not an error does not count as never sent", () => expect(failedToConnect({ code: "ECONNREFUSED" })).toBe(false));
