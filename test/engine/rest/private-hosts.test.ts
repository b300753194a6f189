import { expect, test } from "vitest";
import { refusedServers } from "../../../src/engine/rest/private-hosts.ts";

test("the warning about a disallowed server says how to allow it", () => {
  expect(refusedServers(["http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v2"], [])).toEqual([
    'Every call of its operations will be refused: Calls to 127.0.0.1:8080 are not allowed: 127.0.0.1 is not a public address. To allow this server, list "127.0.0.1:8080" in allowPrivate.',
  ]);
});
