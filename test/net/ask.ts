/** Short ways to send a request in a test and to look at all that came of it. */
import { onTestFinished } from "vitest";
import { ToolError, errorInfo, type ErrorInfo } from "../../src/core/error.ts";
import type { Clock, Log } from "../../src/core/ports.ts";
import type { ResolveName } from "../../src/net/address-guard.ts";
import { httpClient } from "../../src/net/http-client.ts";
import type { HttpClient, HttpClientOptions, HttpHeader, HttpRequest } from "../../src/net/http-request.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";

export interface TestClientOptions extends HttpClientOptions {
  /** What each name resolves to; any other name fails the test. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly resolve?: ResolveName;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** A client that is closed after the test and asks no real resolver. */
export function testClient(options: TestClientOptions = {}): HttpClient {
  const { names = {}, resolve, clock, log, ...clientOptions } = options;
  const client = httpClient(clientOptions, {
    clock: clock ?? systemPorts.clock,
    log: log ?? { debug() {}, warn() {} },
    resolve: resolve ?? ((name) => Promise.resolve(names[name] ?? [])),
  });
  onTestFinished(() => client.close());
  return client;
}

export type Ask = Partial<Omit<HttpRequest, "url">>;

export function toRequest(url: URL | string, ask: Ask = {}): HttpRequest {
  return { method: "GET", headers: [], signal: new AbortController().signal, ...ask, url: new URL(url) };
}

/** The status and text of the answer. */
export async function ask(
  client: HttpClient,
  url: URL | string,
  more: Ask = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await client.request(toRequest(url, more));
  return { status: answer.status, text: Buffer.from(await answer.bytes()).toString("utf8") };
}

/** The error that a promise rejects with, as data; fails when it does not, or with anything but a ToolError. */
export async function failureOf(promise: Promise<unknown>): Promise<ErrorInfo> {
  try {
    await promise;
  } catch (error: unknown) {
    if (error instanceof ToolError) return errorInfo(error);
    throw error;
  }
  throw new Error("It was expected to fail and did not.");
}

/** The headers that a server received, without those that every request has. */
export function ownHeaders(raw: readonly string[]): readonly HttpHeader[] {
  const pairs: HttpHeader[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) pairs.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return pairs.filter(([name]) => !COMMON.has(name.toLowerCase()));
}

const COMMON: ReadonlySet<string> = new Set(["host", "accept", "accept-encoding", "user-agent", "connection"]);
