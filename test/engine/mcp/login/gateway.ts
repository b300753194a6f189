/** A gateway whose users log in to a server behind it, with an authorization server that is not ours. */
import { createServer } from "node:http";
import { expect, onTestFinished } from "vitest";
import { resultText } from "../../../../src/core/result.ts";
import { UserLogins, mcpToolset, type McpUserLoginAuth, type UserLoginsOptions } from "../../../../src/engine/mcp.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../../src/runtime/runtime.ts";
import { listenMcp, type McpListener } from "../../../../src/server/mcp.ts";
import { systemPorts } from "../../../../src/core/system/system-ports.ts";
import type { Clock } from "../../../../src/core/ports.ts";
import { MemoryLog } from "../../../../src/testing/fake-ports.ts";
import {
  authorizationServer,
  ticketServer,
  type AuthorizationServer,
  type AuthorizationServerOptions,
  type TicketServer,
  type TicketServerOptions,
} from "./authorization-server.ts";
import { Browser } from "./browser.ts";

/** An address at which a login begins. */
export const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/upstreams\/login\?id=[\w-]{43}/u;

export interface Gateway {
  readonly authority: AuthorizationServer;
  readonly tickets: TicketServer;
  readonly logins: UserLogins;
  readonly runtime: Runtime;
  readonly log: MemoryLog;
  readonly listener: McpListener;
  /** Everything that was said in results, events and logs. */
  said(): string;
  call(user: string, name?: string): Promise<string>;
  addressOf(user: string): Promise<string>;
  /** Has the user log in there, and the tools listed. */
  logIn(user: string, account: string): Promise<void>;
  /** Lets time pass for the logins. */
  pass(ms: number): void;
}

interface Setup {
  readonly authority?: AuthorizationServerOptions;
  readonly auth?: Partial<McpUserLoginAuth>;
  readonly logins?: Partial<UserLoginsOptions>;
  readonly runtime?: Partial<RuntimeOptions>;
  readonly names?: string;
  readonly tickets?: TicketServerOptions;
  /** @default one that is free */
  readonly port?: number;
  /** Addresses besides that of the authorization server. */
  readonly allowPrivate?: readonly string[];
  /** Called with its issuer before anything asks for it. */
  readonly onAuthority?: (issuer: string) => void;
  /** Origins of pages besides its own. */
  readonly allowedOrigins?: readonly string[];
  /** The limits of the logins are so many times shorter. */
  readonly haste?: number;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function gateway(setup: Setup = {}): Promise<Gateway> {
  const authority = await authorizationServer(setup.authority);
  setup.onAuthority?.(authority.issuer);
  const tickets = await ticketServer(authority, setup.names === undefined ? setup.tickets : { ...setup.tickets, names: setup.names });
  const { port = await freePort() } = setup;
  const log = new MemoryLog();
  let passed = 0;
  const { clock: real } = systemPorts;
  const clock: Clock = {
    now: () => real.now() + passed,
    wallTime: () => real.wallTime() + passed,
    timer: (fire, delayMs, options) => real.timer(fire, delayMs / (setup.haste ?? 1), options),
  };
  const logins = new UserLogins({ origin: `http://127.0.0.1:${port}`, ports: { log, clock }, ...setup.logins });
  const auth = { type: "user-login", logins, ...setup.auth } as const;
  const allowPrivate = [new URL(setup.names ?? authority.issuer).host, ...(setup.allowPrivate ?? [])];
  const runtime = createRuntime({
    toolsets: [mcpToolset("tickets", { url: tickets.url, auth, allowPrivate })],
    ports: { log },
    ...setup.runtime,
  });
  onTestFinished(async () => void (await runtime.close()));
  const { failed } = await runtime.open();
  expect(failed).toEqual([]);
  const listener = await listenMcp(runtime, {
    port,
    logins,
    graceMs: 0,
    ports: { log },
    ...(setup.allowedOrigins === undefined ? {} : { allowedOrigins: setup.allowedOrigins }),
  });
  onTestFinished(() => listener.close());
  const told: string[] = [];
  runtime.subscribe((event) => told.push(JSON.stringify(event)));
  const call = async (user: string, name = "tickets::whoami"): Promise<string> => {
    const result = await runtime.execute({ name, input: {} }, { data: { principal: { id: user } } });
    told.push(JSON.stringify(result));
    return resultText(result);
  };
  const said = (): string => [...told, JSON.stringify(log.lines)].join("\n");
  const addressOf = async (user: string): Promise<string> => await logins.begin("tickets", user);
  const logIn = async (user: string, account: string): Promise<void> => {
    expect((await new Browser(account).logIn(await addressOf(user))).status).toBe(200);
    await runtime.refresh();
  };
  const pass = (ms: number): void => void (passed += ms);
  return { authority, tickets, logins, runtime, log, listener, said, call, addressOf, logIn, pass };
}
