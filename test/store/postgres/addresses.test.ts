/** Which addresses a store in PostgreSQL takes, and what is shown of them. */
import { expect, test } from "vitest";
import { checkPostgresSettings, redactUrl } from "../../../src/store/postgres/postgres-settings.ts";

test.each([
  ["postgres://me:secret@one,two/app", "several hosts"],
  ["postgres://me:secret@one:5432,two:5432/app?target_session_attrs=read-write", "several hosts"],
  ["postgres://me:secret@/app?host=one,two", "several hosts"],
  ["postgres://me:p@secret/word?d#%@host/app", "%40"],
  ["postgres://me:12/secret@host/app", "%40"],
  ["postgres://me:12?secret@host/app", "%40"],
  ["postgres://me:p@secret/word?d@host/app", "%40"],
  ["postgres://me:p@/secret@host/app", "%40"],
])("a URL that does not lead to the host that it seems to is refused, and the error contains no part of it: %s", (url, says) => {
  expect(() => checkPostgresSettings({ url })).toThrow(says);
  expect(() => checkPostgresSettings({ url })).not.toThrow(/secret/u);
});

test.each([
  ["postgres://me:secret@/app?host=/run/postgresql", "postgres://me@/app?host=/run/postgresql"],
  ["postgres:///app?host=/run/postgresql&user=me&password=secret", "postgres:///app?host=/run/postgresql"],
  ["postgres://me:secret@%2Frun%2Fpostgresql/app", "postgres://me@%2Frun%2Fpostgresql/app"],
  ["postgres://me:se,cr%40et@[::1]:5432/app?sslmode=verify-full", "postgres://me@[::1]:5432/app"],
])("a URL in a form that pg accepts is accepted, and shown without the password: %s", (url, shown) => {
  expect(redactUrl(checkPostgresSettings({ url }).url)).toBe(shown);
});
