/** A call as text that makes it again, without a key. */
import { escapeForJson, HIDDEN_CHARACTERS } from "../show/text-pieces.ts";

export interface CopiedCall {
  readonly url: string;
  readonly sessionId: string;
  readonly name: string;
  readonly input: unknown;
}

export function toCurl({ url, sessionId, name, input }: CopiedCall): string {
  const body = JSON.stringify({ calls: [{ name, input }] });
  return [
    `curl -s ${quoteForShell(`${url}/v1/sessions/${encodeURIComponent(sessionId)}/execute`)} \\`,
    '  -H "Authorization: Bearer $HAFT_TOKEN" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d ${quoteForShell(body)}`,
  ].join("\n");
}

export function toTypeScript({ url, sessionId, name, input }: CopiedCall): string {
  return [
    'import { createClient } from "haft/client";',
    "",
    `const client = createClient({ url: ${toLiteral(url)}, token: process.env.HAFT_TOKEN });`,
    'const { results } = await client.call("executeInSession", {',
    `  params: { sessionId: ${toLiteral(sessionId)} },`,
    `  body: { calls: [{ name: ${toLiteral(name)}, input: ${toIndentedLiteral(input)} }] },`,
    "});",
    "console.log(results[0]);",
    "",
  ].join("\n");
}

/** The parts of a result that a test compares. */
export interface CopiedResult {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: { readonly code: string };
}

/** Returns a test for Vitest that makes the call in a session of its own and compares the result; without a result it expects the status `ok`. */
export function toTestCode({ url, name, input }: CopiedCall, result: CopiedResult | undefined): string {
  const { status = "ok", output, error } = result ?? {};
  const code = error === undefined ? "" : `, error: { code: ${toLiteral(error.code)} }`;
  const expected = output === undefined ? "" : `, output: ${toIndentedLiteral(output)}`;
  return [
    'import { createClient } from "haft/client";',
    'import { expect, test } from "vitest";',
    "",
    `test(${toLiteral(`${name} answers as it was recorded`)}, async () => {`,
    `  const client = createClient({ url: process.env.HAFT_URL ?? ${toLiteral(url)}, token: process.env.HAFT_TOKEN ?? "" });`,
    '  const { results } = await client.call("execute", {',
    `    body: { calls: [{ name: ${toLiteral(name)}, input: ${toIndentedLiteral(input)} }] },`,
    "  });",
    `  expect(results[0]).toMatchObject({ status: ${toLiteral(status)}${code}${expected} });`,
    "});",
    "",
  ].join("\n");
}

/** Quotes text so that no character in it has a meaning to a shell. */
function quoteForShell(text: string): string {
  return `'${escapeHidden(text).replaceAll("'", "'\\''")}'`;
}

function toLiteral(value: string): string {
  return escapeHidden(JSON.stringify(value));
}

function toIndentedLiteral(value: unknown): string {
  return escapeHidden(JSON.stringify(value, undefined, 2) ?? "undefined").replaceAll("\n", "\n  ");
}

/** Writes characters that editors and terminals interpret or hide as JSON escapes: these texts are JSON or parts of strings. */
function escapeHidden(text: string): string {
  return text.replaceAll(HIDDEN_CHARACTERS, escapeForJson).replaceAll("\t", escapeForJson);
}
